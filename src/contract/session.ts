/** A session is one live conversation of an agent, with an immutable id and a handle people can say. */
import { z } from "zod";
import type { Permission } from "./agent.ts";
import { sessionIdSchema } from "./schema-ids.ts";

/** Two or three short words joined by dashes, as in `lucid-knuth`. */
export const handlePattern = /^[a-z][a-z0-9]*(-[a-z0-9]+){1,2}$/;
export const handleMaxLength = 64;
export const titleMaxLength = 80;

export const sessionStateSchema = z.enum(["ready", "working", "error", "closed"]);
export type SessionState = z.infer<typeof sessionStateSchema>;

export const askPolicySchema = z.enum(["wait", "deny"]);
export type AskPolicy = z.infer<typeof askPolicySchema>;

/** Who gave the title. A later one replaces an earlier one only from the same or a higher rank. */
export const titleSourceSchema = z.enum(["auto", "agent", "human"]);
export type TitleSource = z.infer<typeof titleSourceSchema>;

export const sessionSchema = z.object({
  id: sessionIdSchema,
  handle: z.string(),
  agent: z.string(),
  harness: z.string(),
  /** True when the scripted agent answers, not a model. */
  offline: z.boolean(),
  title: z.string(),
  title_source: titleSourceSchema.nullable(),
  state: sessionStateSchema,
  /** Why the state is `error`. */
  error: z.string().nullable(),
  parent: sessionIdSchema.nullable(),
  /** How many agents up the one that a person started is. */
  depth: z.number().int(),
  /** `deny` answers at once whatever the agent would ask a person. */
  ask_policy: askPolicySchema,
  created_at: z.number(),
  closed_at: z.number().nullable(),
  /** The session whose memory this one began with. */
  forked_from: sessionIdSchema.nullable(),
});
export type Session = z.infer<typeof sessionSchema>;

/** What a session may not have although its agent could: given by whoever started it. */
export type SessionLimits = {
  /** Replaces the agent's model. */
  model: string | null;
  /** The most it may do. */
  permission: Permission | null;
  /** Kept from it besides what its agent is denied. */
  deny_tools: readonly string[];
  /** Lists of tools each of which must name what it uses; absent when nobody above it is held to any. */
  within?: readonly (readonly string[])[];
};

/** A session with what a client's list shows beside it. */
export const sessionViewSchema = sessionSchema.extend({
  pending: z.number().int(),
  /** Turns that ended after what this client has seen. */
  unseen: z.number().int(),
});
export type SessionView = z.infer<typeof sessionViewSchema>;
