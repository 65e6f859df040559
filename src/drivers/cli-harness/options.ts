/** What an agent of a command-line harness may set under `options`. */
import { z } from "zod";
import type { Agent } from "../../contract/agent.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { DriverError } from "../driver.ts";

const shape = {
  /** The program to start, with arguments that go before ours, when it is not the one on PATH. */
  command: z.union([z.string().min(1), z.tuple([z.string().min(1)], z.string())]).optional(),
  /** How long the harness may stay silent while it owes an answer. */
  inactivity_minutes: z.number().positive().default(20),
};
const optionsSchema = z.strictObject(shape);

export type CliOptions = { command: readonly [string, ...string[]]; inactivityMs: number };

/** Throws `DriverError` that names the option and the nearest valid one. */
export function parseCliOptions(agent: Agent, program: string): CliOptions {
  const parsed = optionsSchema.safeParse(agent.options);
  if (!parsed.success) {
    const names = Object.keys(shape);
    const problems = parsed.error.issues.map((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => `no option "${key}"${didYouMean(key, names)}`).join("; ")
        : `${issue.path.join(".")}: ${issue.message}`,
    );
    throw new DriverError({
      code: "start",
      message: `The options of agent "${agent.slug}" are wrong: ${problems.join("; ")}.`,
      fix: `An agent of harness "${agent.harness}" knows these options: ${names.join(", ")}.`,
    });
  }
  const { command, inactivity_minutes } = parsed.data;
  return {
    command: command === undefined ? [program] : typeof command === "string" ? [command] : command,
    inactivityMs: inactivity_minutes * 60_000,
  };
}
