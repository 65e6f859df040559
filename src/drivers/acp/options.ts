/** The settings of an agent that only the ACP driver understands. */
import { z } from "zod";
import type { Agent } from "../../contract/agent.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { DriverError } from "../driver.ts";

const optionsSchema = z.strictObject({
  /** The program to start, alone or with arguments that go before all others. */
  command: z
    .union([
      z
        .string()
        .min(1)
        .transform((program) => [program]),
      z.array(z.string()).min(1),
    ])
    .optional(),
  /** Arguments in place of those that Aegis would give. */
  args: z.array(z.string()).optional(),
  /** The agent's own name of the mode to work in, in place of what its permission stands for. */
  mode: z.string().min(1).optional(),
  /** How long a turn may go without a byte while no tool runs. */
  inactivity_minutes: z.number().positive().default(20),
});
export type AcpOptions = z.infer<typeof optionsSchema>;

export function parseOptions(agent: Agent): AcpOptions {
  const parsed = optionsSchema.safeParse(agent.options);
  if (parsed.success) return parsed.data;
  const known = Object.keys(optionsSchema.shape);
  const problems = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `unknown option "${key}"${didYouMean(key, known)}`)
      : [`option "${issue.path.join(".")}": ${issue.message}`],
  );
  throw new DriverError({
    code: "start",
    message: `agent "${agent.slug}": ${problems.join("; ")}`,
    fix: `The options of a ${agent.harness} agent are ${known.join(", ")}.`,
  });
}
