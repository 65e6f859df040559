/** The settings of an agent that only the ACP driver understands. */
import { z } from "zod";
import type { Agent } from "../../contract/agent.ts";
import { parseAgentOptions } from "../agent-options.ts";
import { commandOption } from "../cli-harness/options.ts";

const optionsSchema = z.strictObject({
  /** What to start when it is not the program on PATH. */
  command: commandOption.optional(),
  /** Arguments in place of those that Aegis would give. */
  args: z.array(z.string()).optional(),
  /** The agent's own name of the mode to work in, in place of what its permission stands for. */
  mode: z.string().min(1).optional(),
  /** How long a turn may go without a byte while no tool runs. */
  inactivity_minutes: z.number().positive().default(20),
});
export type AcpOptions = z.infer<typeof optionsSchema>;

/** Throws `DriverError`. */
export function parseOptions(agent: Agent): AcpOptions {
  return parseAgentOptions(agent, optionsSchema, agent.options);
}
