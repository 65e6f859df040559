/** What the endpoint tables are made from. */
import { z } from "zod";
import { messageMaxBytes } from "./message.ts";

export type Endpoint = {
  summary: string;
  path: z.ZodObject;
  query: z.ZodObject;
  body: z.ZodObject;
  output: z.ZodType;
};

export const none = z.object({});
export const sessionPath = z.object({ session: z.string().describe("a session's id or handle") });
export const count = (max: number, preset: number) => z.coerce.number().int().min(1).max(max).default(preset);
export const flag = z.stringbool().default(false);

/** Text that survives storage and every harness unchanged. */
export const storableText = z
  .string()
  .refine((text) => !text.includes("\0"), { error: "must not contain NUL characters" })
  .refine((text) => text.isWellFormed(), { error: "must not contain half of a surrogate pair" });

/** A refusal of this kind is answered with 413 instead of 400. */
export const tooLarge = { tooLarge: true } as const;

export const messageText = storableText
  .min(1)
  .refine(fitsMessage, { error: `must be at most ${messageMaxBytes} bytes of UTF-8`, params: tooLarge });

/** A character takes at most three bytes, so most texts need no counting. */
function fitsMessage(text: string): boolean {
  return text.length * 3 <= messageMaxBytes || new TextEncoder().encode(text).length <= messageMaxBytes;
}
