/** An ask is a question that waits for a person: an approval of a tool call, or an agent's own question. */
import { z } from "zod";
import { askIdSchema, sessionIdSchema } from "./schema-ids.ts";

/** `withdrawn` was taken back because whoever asked no longer waits for it. */
export const askStatusSchema = z.enum(["open", "answered", "expired", "withdrawn"]);
export type AskStatus = z.infer<typeof askStatusSchema>;

/** The choices of every approval; `always` means: for the rest of this session. */
export const permissionChoices = ["allow", "always", "deny"] as const;

export const askAnswerSchema = z.object({
  /** One of the ask's options, or null when it was answered in free text. */
  choice: z.string().nullable(),
  text: z.string(),
});
export type AskAnswer = z.infer<typeof askAnswerSchema>;

export const askSchema = z.object({
  id: askIdSchema,
  session: sessionIdSchema,
  kind: z.enum(["permission", "question"]),
  /** What is asked, in one line. */
  question: z.string(),
  /** The tool that wants to run, for approvals. */
  tool: z.string().nullable(),
  /** What exactly it would do: the tool's input, or the context of a question. */
  detail: z.unknown(),
  /** Empty for a question that takes any text. */
  options: z.array(z.string()),
  /** Names the action: an answer meant for another one is refused. */
  digest: z.string(),
  status: askStatusSchema,
  answer: askAnswerSchema.nullable(),
  created_at: z.number(),
  expires_at: z.number(),
  settled_at: z.number().nullable(),
});
export type Ask = z.infer<typeof askSchema>;
