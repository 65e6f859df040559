/** An ask is a durable question that waits for a person: an approval of a tool call, or a question from an agent. */
import { z } from "zod";
import { senderSchema } from "./message.ts";
import { askIdSchema, sessionIdSchema } from "./schema-ids.ts";

/** `withdrawn`: the requester no longer waits for an answer. */
export const askStatusSchema = z.enum(["open", "answered", "expired", "withdrawn"]);
export type AskStatus = z.infer<typeof askStatusSchema>;

/** The choices of every approval. `always` applies to the rest of the session. */
export const permissionChoices = ["allow", "always", "deny"] as const;

export const askAnswerSchema = z.object({
  /** One of the ask's options, or null for a free-text answer. */
  choice: z.string().nullable(),
  text: z.string(),
});
export type AskAnswer = z.infer<typeof askAnswerSchema>;

/** The change to one file: either the text before and after, or hunks as the harness reported them. */
export const askChangeSchema = z.object({
  path: z.string(),
  /** Null for a new file, or if the current text is unknown; `note` then states why. */
  before: z.string().nullable(),
  /** Null if the file would be deleted. */
  after: z.string().nullable(),
  patch: z.string().nullable(),
  note: z.string().nullable(),
});
export type AskChange = z.infer<typeof askChangeSchema>;

/** Who asked, and on whose behalf, at the time the ask was opened. */
export const askOriginSchema = z.object({
  handle: z.string(),
  agent: z.string(),
  harness: z.string(),
  /** The ancestors of the asking session, nearest first. The last one is the root of the tree. */
  parents: z.array(z.object({ session: sessionIdSchema, handle: z.string(), agent: z.string() })),
  /** The senders of the messages that the current turn answers. */
  senders: z.array(senderSchema),
  /** For senders that are queues or workflows: the handles of the sessions that gave the task or started the run. */
  requesters: z.array(z.string()),
});
export type AskOrigin = z.infer<typeof askOriginSchema>;

export const askSchema = z.object({
  id: askIdSchema,
  session: sessionIdSchema,
  kind: z.enum(["permission", "question"]),
  /** The question in one line. The agent wrote this text; the real action is in `detail` and `changes`. */
  question: z.string(),
  /** Why it asks, according to the harness or a plugin's gate. */
  reason: z.string().nullable(),
  /** True if a gate requires a person's decision although the agent has the permission. */
  gate: z.boolean(),
  /** For approvals: the tool to run. */
  tool: z.string().nullable(),
  /** The exact action: the tool's input, or the context of a question. */
  detail: z.unknown(),
  /** The changes to files. */
  changes: z.array(askChangeSchema),
  /** The working folder of the tool. */
  cwd: z.string().nullable(),
  /** Null for an ask from an earlier version of Aegis. */
  origin: askOriginSchema.nullable(),
  /**
   * How many characters of the action were removed because it is too large. The digest covers them; each truncated text
   * says so.
   */
  omitted: z.int(),
  /** Empty for a free-text question. */
  options: z.array(z.string()),
  /** SHA-256 of the whole action and its requester. An answer with another digest is refused. */
  digest: z.string(),
  status: askStatusSchema,
  answer: askAnswerSchema.nullable(),
  created_at: z.number(),
  /** Null if it waits for as long as the turn does. */
  expires_at: z.number().nullable(),
  settled_at: z.number().nullable(),
  /** The client that answered, by its own declaration. */
  settled_by: z.string().nullable(),
  /** Why it ended without an answer. */
  settled_reason: z.string().nullable(),
});
export type Ask = z.infer<typeof askSchema>;
