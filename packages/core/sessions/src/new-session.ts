/** The parameters of a new session and the row created from them. */

import { offlineHarness } from "@aegis/agents/agent-table.ts";
import type { SessionPlace } from "@aegis/agents/rights/place.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { AskPolicy, SessionLimits } from "@aegis/contract/session.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { Isolation } from "@aegis/contract/worktree.ts";
import type { ForkPoint, SessionRow } from "@aegis/store/store.ts";
import type { Admission } from "./inbox/inbox.ts";
import { cleanTitle } from "./titles.ts";

export type NewSession = {
  agent?: string | undefined;
  handle?: string | undefined;
  title?: string | undefined;
  ask_policy?: AskPolicy | undefined;
  /** A first message, admitted together with the session. */
  prompt?: string | undefined;
  /** The requester; a person if absent. */
  sender?: Admission["sender"];
  cause?: Admission["cause"];
  /** An idempotency key: a session with the same id is created once. */
  id?: SessionId | undefined;
  /** The session that starts it and gets its result. */
  parent?: SessionId | undefined;
  depth?: number | undefined;
  limits?: SessionLimits | undefined;
  /** Replaces the model of the agent, and that of the limits. */
  model?: string | undefined;
  /**
   * The starter: a session, or the starter of a run. The new session gets at most its rights and a position in its
   * tree, or is refused if the tree's budget is exhausted. If absent, a person or a schedule is the starter.
   */
  starter?: Starter | SessionId | null | undefined;
  /** Like `starter`, if the position was already admitted. */
  place?: SessionPlace | undefined;
  /** Where it works; the agent's setting if absent. `base` is what its worktree starts from; HEAD if absent. */
  isolation?: Isolation | undefined;
  base?: string | undefined;
  /** Labels that its node must have, besides those of its agent. */
  nodes?: readonly string[] | undefined;
  /** The session whose memory it starts with, and the fork point. */
  fork?: { from: SessionId; point: ForkPoint } | undefined;
};

export type RowParts = {
  id: SessionId;
  agent: Agent;
  handle: string;
  place: SessionPlace | null;
  now: number;
};

export function newRow(input: NewSession, { id, agent, handle, place, now }: RowParts): SessionRow {
  const title = cleanTitle(input.title ?? "");
  return {
    id,
    handle,
    agent: agent.ref,
    harness: agent.harness,
    offline: agent.harness === offlineHarness,
    title,
    title_source: title === "" ? null : "human",
    state: "ready",
    error: null,
    parent: input.parent ?? null,
    depth: input.depth ?? place?.depth ?? 0,
    ask_policy: input.ask_policy ?? "wait",
    created_at: now,
    closed_at: null,
    resume: null,
    limits: withModel(input.limits ?? place?.limits ?? null, input.model),
    started_by: place?.started_by ?? null,
    root: place?.root ?? null,
    forked_from: input.fork?.from ?? null,
    fork_point: input.fork?.point ?? null,
  };
}

/** The limits with another model; null selects the agent's own. Without a model they stay as they are. */
export function withModel(limits: SessionLimits | null, model: string | null | undefined): SessionLimits | null {
  if (model === undefined || (limits === null && model === null)) return limits;
  // A missing `may_end` would take away what the agent itself may end.
  return { ...(limits ?? { permission: null, deny_tools: [], may_end: ["*"] }), model };
}
