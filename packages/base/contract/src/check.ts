/** A check is a command that decides whether work is done. The daemon runs it after the agent says so. */
import { z } from "zod";

const commandSchema = z
  .string()
  .max(10_000)
  .refine((text) => text.trim() !== "" && !text.includes("\0"), { error: "expected a command such as npm test" });

export const checkSchema = z.strictObject({
  command: commandSchema,
  /** How often a failure goes back to the agent before the work fails. */
  max_retries: z.int().min(0).max(20).default(2),
  /** Timeout of one run in seconds. */
  timeout: z.number().positive().max(86_400).default(600),
});
export type Check = z.infer<typeof checkSchema>;

/** As users and agents write it: the command, or the command with its limits. */
export const checkInputSchema = z.union([commandSchema, checkSchema]);
export type CheckInput = z.infer<typeof checkInputSchema>;

/** Who named the command. It decides which consent a run of the check needs. */
export const checkOriginSchema = z.union([
  z.enum(["person", "agent"]),
  z.strictObject({ workflow: z.string(), plugin: z.string().nullable() }),
]);
export type CheckOrigin = z.infer<typeof checkOriginSchema>;

export const namedCheckSchema = checkSchema.extend({ by: checkOriginSchema });
export type NamedCheck = z.infer<typeof namedCheckSchema>;

/** Fills in the defaults. */
export function checkOf(input: CheckInput): Check {
  return typeof input === "string" ? checkSchema.parse({ command: input }) : input;
}
