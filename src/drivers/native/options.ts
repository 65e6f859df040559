/** What a native agent may set under `options`. */
import { z } from "zod";
import type { Agent } from "../../contract/agent.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { DriverError } from "../driver.ts";

const shape = {
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
};
const optionsSchema = z.strictObject(shape);

export type NativeOptions = z.infer<typeof optionsSchema>;

/** What `options` say goes before the agent's own fields. Throws `DriverError` that names the option and the nearest one. */
export function parseOptions(agent: Pick<Agent, "slug" | "options" | "temperature" | "max_turns">): NativeOptions {
  const { temperature, max_turns } = agent;
  const parsed = optionsSchema.safeParse({
    ...(temperature === null ? {} : { temperature }),
    ...(max_turns === null ? {} : { max_turns }),
    ...agent.options,
  });
  if (parsed.success) return parsed.data;
  const names = Object.keys(shape);
  const problems = parsed.error.issues.map((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `no option "${key}"${didYouMean(key, names)}`).join("; ")
      : `${issue.path.join(".")}: ${issue.message}`,
  );
  throw new DriverError({
    code: "start",
    message: `The options of agent "${agent.slug}" are wrong: ${problems.join("; ")}.`,
    fix: `A native agent knows these options: ${names.join(", ")}.`,
  });
}
