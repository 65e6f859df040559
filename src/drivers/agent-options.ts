/** Checks what an agent sets under `options` against what its driver knows. */
import type { z } from "zod";
import type { Agent } from "../contract/agent.ts";
import { didYouMean } from "../lib/nearest.ts";
import { DriverError } from "./driver.ts";

/** Throws `DriverError` that names the option and the nearest valid one. */
export function parseAgentOptions<S extends z.ZodObject>(
  agent: Pick<Agent, "slug" | "harness">,
  schema: S,
  options: unknown,
): z.infer<S> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const names = Object.keys(schema.shape);
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
