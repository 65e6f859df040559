/** The agent options of the ACP driver. */

import type { Agent } from "@aegis/contract/agent.ts";
import { z } from "zod";
import { parseAgentOptions } from "../agent-options.ts";
import { commandOption } from "../cli-harness/options.ts";

const optionsSchema = z.strictObject({
  /** The command to start instead of the program on PATH. */
  command: commandOption.optional(),
  /** Replaces the arguments that Aegis would pass. */
  args: z.array(z.string()).optional(),
  /** The agent's own name of its mode; replaces the mode that `permission` selects. */
  mode: z.string().min(1).optional(),
  /** How long a turn may produce no output while no tool runs. */
  inactivity_minutes: z.number().positive().default(20),
});
export type AcpOptions = z.infer<typeof optionsSchema>;

/** Throws `DriverError`. */
export function parseOptions(agent: Agent): AcpOptions {
  return parseAgentOptions(agent, optionsSchema, agent.options);
}
