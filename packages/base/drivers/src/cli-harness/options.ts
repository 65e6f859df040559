/** The `options` of an agent with a command-line harness. */

import type { Agent } from "@aegis/contract/agent.ts";
import { z } from "zod";
import { parseAgentOptions } from "../agent-options.ts";

/** A program, alone or with arguments that precede all others. */
export const commandOption = z
  .union([z.string().min(1), z.tuple([z.string().min(1)], z.string())])
  .transform((command): readonly [string, ...string[]] => (typeof command === "string" ? [command] : command));

const optionsSchema = z.strictObject({
  /** The command to start instead of the program on PATH. */
  command: commandOption.optional(),
  /** How long the harness may be silent while an answer is due. */
  inactivity_minutes: z.number().positive().default(20),
});

export type CliOptionName = keyof z.infer<typeof optionsSchema>;

export type CliOptions = { command: readonly [string, ...string[]]; inactivityMs: number };

/** Throws `DriverError`. */
export function parseCliOptions(agent: Agent, program: string): CliOptions {
  const { command = [program], inactivity_minutes } = parseAgentOptions(agent, optionsSchema, agent.options);
  return { command, inactivityMs: inactivity_minutes * 60_000 };
}
