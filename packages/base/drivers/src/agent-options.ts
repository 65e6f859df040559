/** Validates an agent's `options` against the schema of its driver. */

import type { Agent } from "@aegis/contract/agent.ts";
import { fieldProblems, problemText } from "@aegis/lib/issue-words.ts";
import type { z } from "zod";
import { DriverError } from "./driver.ts";

/** Throws a `DriverError` that names the option and the nearest valid one. */
export function parseAgentOptions<S extends z.ZodObject>(
  agent: Pick<Agent, "slug" | "harness">,
  schema: S,
  options: unknown,
): z.infer<S> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const names = Object.keys(schema.shape);
  const problems = fieldProblems(parsed.error.issues, { known: names, noun: "option" }).map(problemText);
  throw new DriverError({
    code: "start",
    message: `The options of agent "${agent.slug}" are invalid: ${problems.join("; ")}.`,
    fix: `An agent of harness "${agent.harness}" has these options: ${names.join(", ")}.`,
  });
}
