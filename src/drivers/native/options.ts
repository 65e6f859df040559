/** What a native agent may set under `options`. */
import { z } from "zod";
import type { Agent } from "../../contract/agent.ts";
import { parseAgentOptions } from "../agent-options.ts";

const optionsSchema = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  /** Output tokens of one model call. */
  max_tokens: z.number().int().positive().optional(),
  /** Model calls in one turn. */
  max_turns: z.number().int().positive().default(50),
  /** Tokens the model's context holds, where the built-in table is wrong. */
  context_size: z.number().int().min(1000).optional(),
  /** How long a model may stay silent. */
  inactivity_minutes: z.number().positive().default(5),
  /** Lets the fetch tool reach loopback and private addresses. */
  allow_private_fetch: z.boolean().default(false),
});

export type NativeOptions = z.infer<typeof optionsSchema>;

/** What `options` say goes before the agent's own fields. Throws `DriverError`. */
export function parseOptions(agent: Agent): NativeOptions {
  const { temperature, max_turns } = agent;
  return parseAgentOptions(agent, optionsSchema, {
    ...(temperature === null ? {} : { temperature }),
    ...(max_turns === null ? {} : { max_turns }),
    ...agent.options,
  });
}
