/** A client is a program that uses Aegis over MCP with its own credential, such as another agent application. */
import { z } from "zod";

export const clientNameSchema = z
  .string()
  .max(32)
  .regex(
    /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/,
    "expected lower-case letters and digits joined by - . or _, as in claude-code",
  );

export const clientSchema = z.object({
  name: clientNameSchema,
  created_at: z.number(),
  /** When it last made a request, to the minute; null if never. */
  last_used_at: z.number().nullable(),
});
export type Client = z.infer<typeof clientSchema>;
