/** Shared parts of the endpoint tables. */
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

/** Declares an endpoint. An input that is left out has no fields. */
export function endpoint<
  O extends z.ZodType,
  P extends z.ZodObject = typeof none,
  Q extends z.ZodObject = typeof none,
  B extends z.ZodObject = typeof none,
>(
  summary: string,
  parts: { path?: P; query?: Q; body?: B; output: O },
): { summary: string; path: P; query: Q; body: B; output: O };
export function endpoint(summary: string, parts: Partial<Endpoint> & Pick<Endpoint, "output">): Endpoint {
  return { summary, path: none, query: none, body: none, ...parts };
}

export const sessionPath = z.object({ session: z.string().describe("a session's id or handle") });
export const count = (max: number, preset: number) => z.coerce.number().int().min(1).max(max).default(preset);
export const flag = z.stringbool().default(false);

/** A database of the project that was lost: what happened to it, and its present name in the state folder. */
export const storeLossSchema = z.object({
  at: z.number(),
  /** `behind`: it is there, but lacks commits that the transcripts have. */
  kind: z.enum(["damaged", "emptied", "missing", "behind"]),
  reason: z.string().nullable(),
  set_aside: z.string().nullable(),
});

/** Text that storage and every harness preserve unchanged. */
export const storableText = z
  .string()
  .refine((text) => !text.includes("\0"), { error: "must not contain NUL characters" })
  .refine((text) => text.isWellFormed(), { error: "must not contain half of a surrogate pair" });

/** Marks a validation failure that is answered with 413 instead of 400. */
export const tooLarge = { tooLarge: true } as const;

export const messageText = storableText
  .min(1)
  .refine(fitsMessage, { error: `must be at most ${messageMaxBytes} bytes of UTF-8`, params: tooLarge });

/** A character takes at most three bytes, so most texts need no exact count. */
function fitsMessage(text: string): boolean {
  return text.length * 3 <= messageMaxBytes || new TextEncoder().encode(text).length <= messageMaxBytes;
}
