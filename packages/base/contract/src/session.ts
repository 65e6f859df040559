/** A session is one live conversation of an agent, with an immutable id and a readable handle. */
import { z } from "zod";
import { permissionSchema } from "./agent.ts";
import { changeCountsSchema } from "./changes.ts";
import { sandboxSettingsSchema } from "./sandbox.ts";
import { sessionIdSchema } from "./schema-ids.ts";
import { turnItemSchemas, usageTotalSchema } from "./turn.ts";
import { worktreeSchema } from "./worktree.ts";

/**
 * One to three short words joined by dashes, such as `lucid-knuth`. Ids contain an underscore, so a handle is never an
 * id.
 */
export const handlePattern = /^[a-z][a-z0-9]*(-[a-z0-9]+){0,2}$/;
export const handleExpected = "expected one to three lower-case words joined by dashes, as in lucid-knuth";
export const handleMaxLength = 64;
export const titleMaxLength = 80;

export const sessionStateSchema = z.enum(["ready", "working", "error", "closed"]);
export type SessionState = z.infer<typeof sessionStateSchema>;

export const askPolicySchema = z.enum(["wait", "deny"]);
export type AskPolicy = z.infer<typeof askPolicySchema>;

/** Who set the title. A new title replaces the old one only if its source has the same or a higher rank. */
export const titleSourceSchema = z.enum(["auto", "agent", "human"]);
export type TitleSource = z.infer<typeof titleSourceSchema>;

export const sessionSchema = z.object({
  id: sessionIdSchema,
  handle: z.string(),
  agent: z.string(),
  harness: z.string(),
  /** True if the scripted agent answers instead of a model. */
  offline: z.boolean(),
  title: z.string(),
  title_source: titleSourceSchema.nullable(),
  state: sessionStateSchema,
  /** Why the state is `error`. */
  error: z.string().nullable(),
  parent: sessionIdSchema.nullable(),
  /** The distance to the session that a person started. */
  depth: z.int(),
  /** `deny` rejects every ask of the agent immediately. */
  ask_policy: askPolicySchema,
  created_at: z.number(),
  closed_at: z.number().nullable(),
  /** The session whose history this one started with. */
  forked_from: sessionIdSchema.nullable(),
  /** The node on which it runs. Absent without a cluster. */
  node: z.string().optional(),
  /** The labels that its node must have. Absent if any node will do. */
  nodes: z.array(z.string()).readonly().optional(),
});
export type Session = z.infer<typeof sessionSchema>;

/** Limits below the rights of the session's agent, set by its starter. */
export const sessionLimitsSchema = z.object({
  /** Replaces the agent's model. */
  model: z.string().nullable(),
  /** The maximum permission. */
  permission: permissionSchema.nullable(),
  /** Tools denied in addition to those that its agent is denied. */
  deny_tools: z.array(z.string()).readonly(),
  /** Allowlists of tools. A tool must be on each of them. Absent if no starter is limited to a list. */
  within: z.array(z.array(z.string()).readonly()).readonly().optional(),
  /** Denies the tools that need more. Absent: the permission decides alone. */
  needs_at_most: z.literal("write").optional(),
  /** The settings of the starters. Absent for a session that an agent started: its starters leave all to the project. */
  confined_within: z.array(sandboxSettingsSchema).readonly().optional(),
  /** The only agents whose sessions it may end outside its own tree; absent means none. */
  may_end: z.array(z.string()).readonly().optional(),
});
export type SessionLimits = z.infer<typeof sessionLimitsSchema>;

/** The session waits for a person: the number of open asks, and since when the oldest one is open. */
export const needsYouSchema = z.object({ asks: z.int(), since: z.number() });
export type NeedsYou = z.infer<typeof needsYouSchema>;

/** A session with additional data for lists in clients. */
export const sessionViewSchema = sessionSchema.extend({
  pending: z.int(),
  /** Turns that ended after the last event that this client has seen, counted up to `mostUnseen`. */
  unseen: z.int(),
  /** Null if no ask is open. The state is unaffected: a turn that waits is still `working`. */
  needs_you: needsYouSchema.nullable(),
  /** The usage of its turns; null if no turn recorded any. */
  usage: usageTotalSchema.nullable(),
  /** The fill level of the model's context at the harness's last report; null if it never reported one. */
  context: turnItemSchemas.context.nullable(),
  /**
   * Why its next message cannot be answered: no agent has the name that the session was started with. Otherwise null.
   */
  agent_problem: z.string().nullable(),
  /** The git worktree in which it works; null if it works in the project's folder. */
  worktree: worktreeSchema
    .pick({ dir: true, branch: true, base: true, state: true, port: true, problem: true })
    .nullable(),
  /** The model that the session uses instead of its agent's; null if it uses the agent's. */
  model: z.string().nullable(),
  /** When its last turn ended, or started if it is still running; null if it has had no turn. */
  last_turn_at: z.number().nullable(),
  /** What its turns changed in a git project, as of the end of its last turn; null if nothing is recorded. */
  changes: changeCountsSchema.nullable(),
});
export type SessionView = z.infer<typeof sessionViewSchema>;
