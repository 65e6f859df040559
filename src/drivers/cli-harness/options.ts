/** What an agent of a command-line harness may set under `options`. */
import { z } from "zod";
import type { Agent } from "../../contract/agent.ts";
import { parseAgentOptions } from "../agent-options.ts";

const optionsSchema = z.strictObject({
  /** The program to start, with arguments that go before ours, when it is not the one on PATH. */
  command: z.union([z.string().min(1), z.tuple([z.string().min(1)], z.string())]).optional(),
  /** How long the harness may stay silent while it owes an answer. */
  inactivity_minutes: z.number().positive().default(20),
});

export type CliOptions = { command: readonly [string, ...string[]]; inactivityMs: number };

/** Throws `DriverError`. */
export function parseCliOptions(agent: Agent, program: string): CliOptions {
  const { command, inactivity_minutes } = parseAgentOptions(agent, optionsSchema, agent.options);
  return {
    command: command === undefined ? [program] : typeof command === "string" ? [command] : command,
    inactivityMs: inactivity_minutes * 60_000,
  };
}
