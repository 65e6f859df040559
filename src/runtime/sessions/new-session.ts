/** What a new session may be given, and the row it becomes. */
import type { Agent } from "../../contract/agent.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { AskPolicy, SessionLimits } from "../../contract/session.ts";
import type { ForkPoint, SessionRow } from "../../store/store.ts";
import type { Admission } from "../inbox/inbox.ts";
import { offlineHarness } from "../registry/agents.ts";
import { cleanTitle } from "./titles.ts";

export type NewSession = {
  agent?: string | undefined;
  handle?: string | undefined;
  title?: string | undefined;
  ask_policy?: AskPolicy | undefined;
  /** A first message, admitted together with the session. */
  prompt?: string | undefined;
  /** Who asks for the session; a person when absent. */
  sender?: Admission["sender"];
  cause?: Admission["cause"];
  /** Makes a repeated request harmless: the same id is created once. */
  id?: SessionId | undefined;
  /** The session that starts it and is told what becomes of it. */
  parent?: SessionId | undefined;
  depth?: number | undefined;
  limits?: SessionLimits | undefined;
  /** The session for which it is started as a peer: it gets no more rights than that one, and may go no deeper. */
  startedFor?: SessionId | null | undefined;
  /** The session whose memory it begins with, and where it leaves it. */
  fork?: { from: SessionId; point: ForkPoint } | undefined;
};

export type RowParts = {
  id: SessionId;
  agent: Agent;
  handle: string;
  /** What it has from the session for which it is started. */
  inherited: { depth: number; limits: SessionLimits | null } | null;
  now: number;
};

export function newRow(input: NewSession, { id, agent, handle, inherited, now }: RowParts): SessionRow {
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
    depth: input.depth ?? inherited?.depth ?? 0,
    ask_policy: input.ask_policy ?? "wait",
    created_at: now,
    closed_at: null,
    resume: null,
    limits: input.limits ?? inherited?.limits ?? null,
    forked_from: input.fork?.from ?? null,
    fork_point: input.fork?.point ?? null,
  };
}
