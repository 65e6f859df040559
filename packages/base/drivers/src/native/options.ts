/** The `options` of a native agent. */

import type { Agent } from "@aegis/contract/agent.ts";
import { z } from "zod";
import { parseAgentOptions } from "../agent-options.ts";

const optionsSchema = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  /** Maximum output tokens of one model call. */
  max_tokens: z.number().int().positive().optional(),
  /** Maximum model calls in one turn. */
  max_turns: z.number().int().positive().default(50),
  /** The model's context size in tokens, if the built-in table is wrong. */
  context_size: z.number().int().min(1000).optional(),
  /** How long a model may be silent. */
  inactivity_minutes: z.number().positive().default(5),
  /** Lets the fetch tool reach loopback and private addresses. */
  allow_private_fetch: z.boolean().default(false),
});

export type NativeOptions = z.infer<typeof optionsSchema>;

/** Values in `options` override the agent's own fields. Throws `DriverError`. */
export function parseOptions(agent: Agent): NativeOptions {
  const { temperature, max_turns } = agent;
  return parseAgentOptions(agent, optionsSchema, {
    ...(temperature === null ? {} : { temperature }),
    ...(max_turns === null ? {} : { max_turns }),
    ...agent.options,
  });
}
