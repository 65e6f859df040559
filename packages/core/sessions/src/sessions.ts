/** Creates, finds, renames and closes sessions. Pending messages are drained one turn after another. */

import { missingAgent } from "@aegis/agents/agent-problems.ts";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId, type SessionId, type TurnId } from "@aegis/contract/ids.ts";
import type { Receipt } from "@aegis/contract/message.ts";
import { handleExpected, handlePattern, type SessionView, type TitleSource } from "@aegis/contract/session.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import type { SessionProcesses } from "@aegis/nodes/session-processes.ts";
import type { SessionRow, Store, StoreReads, StoreTx } from "@aegis/store/store.ts";
import { type Assignment, assignSession } from "./assign.ts";
import { type ClosedSession, closeSession, unfinished } from "./close.ts";
import type { Conversations } from "./conversations.ts";
import { type CreatedSession, type CreateOptions, createSession } from "./create.ts";
import { forkPointOf } from "./fork.ts";
import { type Inbox, messageReceipt } from "./inbox/inbox.ts";
import { type SkillRouting, withReason } from "./inbox/routing.ts";
import { type LastText, lastText } from "./last-text.ts";
import type { NewSession } from "./new-session.ts";
import { findSession, liveRow, publicSession, publicTurn, unknownSession } from "./rows.ts";
import { cleanTitle, mayRetitle, retitle } from "./titles.ts";
import type { Turns } from "./turns.ts";
import { startWaiting } from "./waiting-sessions.ts";

export type SessionsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  node: string | null;
  agents: AgentTable;
  drivers: DriverTable;
  inbox: Inbox;
  turns: Turns;
  /** Reaches the processes of sessions on any node. */
  processes: SessionProcesses;
  conversations: Conversations;
  routing: SkillRouting;
  subagentSettings: CreateOptions["subagentSettings"];
};

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #stopping = new AbortController();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Without an explicit agent, a person's first message may select one by the skill that it requires. */
  async create(input: NewSession): Promise<{ session: SessionView; receipt: Receipt | null }> {
    const { store, clock, routing } = this.#options;
    const { prompt, agent, sender, starter } = input;
    const isOpen = agent === undefined && (sender === undefined || sender.kind === "human") && !starter;
    const route = prompt !== undefined && isOpen ? await routing.ofNewSession(prompt) : null;
    const id = input.id ?? newId("ses", clock.now());
    const chosen = route === null ? {} : { agent: route.agent.ref };
    const made = await this.#opened(await store.transact((tx) => this.createIn(tx, { ...input, ...chosen, id })));
    if (route === null || made.receipt === null) return made;
    return { ...made, receipt: withReason(made.receipt, route) };
  }

  /** Creates a session of the same agent that starts with this session's memory. */
  async fork(
    id: SessionId,
    input: Pick<NewSession, "handle" | "title" | "prompt">,
  ): Promise<{ session: SessionView; receipt: Receipt | null }> {
    const { store, clock, agents, drivers } = this.#options;
    const fresh = newId("ses", clock.now());
    const made = await store.transact(async (tx) => {
      const from = await tx.sessions.get(id);
      if (!from) throw unknownSession(id);
      const point = await forkPointOf(tx, from, agents.get(from.agent), drivers);
      const { agent, ask_policy, depth } = from;
      const limits = from.limits ?? undefined;
      const worktree = await tx.worktrees.get(id);
      // A fork of a session in a worktree works in a worktree of its own, from the last commit of that branch.
      const place = worktree === null ? {} : { isolation: "worktree" as const, base: worktree.branch ?? undefined };
      const fork = { from: id, point };
      const { nodes } = from;
      return this.createIn(tx, { ...input, ...place, id: fresh, agent, ask_policy, depth, limits, fork, nodes });
    });
    return this.#opened(made);
  }

  /** Creates inside the caller's transaction. The caller wakes the session after the commit. */
  createIn(tx: StoreTx, input: NewSession): Promise<CreatedSession> {
    return createSession(tx, input, this.#options);
  }

  /** A hint that the session has work. Safe to lose. */
  wake(session: SessionId): void {
    this.#options.turns.wake(session);
  }

  /** Starts no turn until `wakeAll`; messages admitted meanwhile stay pending. */
  rest(): void {
    this.#options.turns.rest();
  }

  /** Lets turns start, and wakes every session with pending messages, a few at a time. Does not wait for them. */
  async wakeAll(): Promise<void> {
    const { store, clock, log, turns } = this.#options;
    const { signal } = this.#stopping;
    turns.resume();
    const sessions = await store.read.messages.waiting(nodeOf(store));
    if (sessions.length === 0) return;
    const wake = (session: SessionId) => this.wake(session);
    startWaiting(sessions, { store, clock, signal, wake }).catch((error: unknown) => {
      if (signal.aborted) return;
      log.error("sessions that wait could not be started in turn", { error: errorText(error) });
      for (const session of sessions) wake(session);
    });
  }

  /** By id, then by the handle of a live session, then by the handle of the most recently closed one. */
  resolve(reference: string): Promise<SessionRow> {
    return findSession(this.#options.store.read, reference);
  }

  /** Why the session cannot answer: no agent has the name it was started with. */
  agentProblem(row: SessionRow): string | null {
    return agentProblem(row, this.#options.agents);
  }

  // Views read pending messages before states. In the other order, a turn that begins in between would make a session with
  // work look like one without: still ready, and nothing pending any more.

  async view(id: SessionId, client: string): Promise<SessionView> {
    const { read } = this.#options.store;
    const [pending, open] = await Promise.all([read.messages.countPending(id), read.asks.openBySession()]);
    const row = await this.#row(id);
    const needs_you = open.get(id) ?? null;
    const recorded = await recordedView(read, row, this.#options.agents);
    return { ...publicSession(row), pending, unseen: await this.#unseen(id, client), needs_you, ...recorded };
  }

  async list(filter: { closed: boolean; client: string }): Promise<SessionView[]> {
    const { read } = this.#options.store;
    const [pending, open] = await Promise.all([read.messages.pendingBySession(), read.asks.openBySession()]);
    const rows = await read.sessions.list(filter.closed ? {} : { closed: false });
    return Promise.all(
      rows.map(async (row) => ({
        ...publicSession(row),
        pending: pending.get(row.id) ?? 0,
        unseen: await this.#unseen(row.id, filter.client),
        needs_you: open.get(row.id) ?? null,
        ...(await recordedView(read, row, this.#options.agents)),
      })),
    );
  }

  async rename(id: SessionId, handle: string): Promise<void> {
    if (!handlePattern.test(handle)) {
      throw new AegisError("invalid", `"${handle}" is not a valid handle: ${handleExpected}`);
    }
    await this.#options.store.transact(async (tx) => {
      const row = await liveRow(tx, id);
      if (row.handle === handle) return;
      await tx.sessions.update(id, { handle });
      await tx.events.append(
        { type: "session.renamed", session: id, data: { handle, before: row.handle } },
        this.#options.clock.now(),
      );
    });
  }

  /** An empty title clears it. Throws `conflict` if a title of a higher rank is set. */
  async setTitle(id: SessionId, text: string, source: TitleSource): Promise<void> {
    const title = cleanTitle(text);
    await this.#options.store.transact(async (tx) => {
      const row = await liveRow(tx, id);
      if (!mayRetitle(row.title_source, source)) {
        throw new AegisError(
          "conflict",
          `the title was set by the ${row.title_source}; the ${source} cannot replace it`,
        );
      }
      await retitle(tx, { session: row, title, source, now: this.#options.clock.now() });
    });
  }

  /** Changes the agent of a session without turns, or the model from the next turn on. */
  async assign(id: SessionId, change: Assignment): Promise<void> {
    const isChanged = await this.#options.store.transact((tx) => assignSession(tx, id, change, this.#options));
    if (isChanged) await this.#options.processes.reopenNext(id);
  }

  /**
   * Closes the session permanently: refuses pending messages, notifies their senders and interrupts the current turn.
   */
  async close(id: SessionId, reason: string): Promise<MessageId[]> {
    const closed = await this.#options.store.transact((tx) => this.closeIn(tx, id, reason));
    await this.leave(closed);
    return closed.refused;
  }

  /** Closes a session that has nothing left to do; otherwise returns every reason to keep it open. */
  async closeIdle(id: SessionId, reason: string): Promise<string[]> {
    const { reasons, closed } = await this.#options.store.transact(async (tx) => {
      const reasons = await unfinished(tx, await liveRow(tx, id));
      return { reasons, closed: reasons.length > 0 ? null : await this.closeIn(tx, id, reason) };
    });
    if (closed) await this.leave(closed);
    return reasons;
  }

  /**
   * Closes inside the caller's transaction; the caller calls `leave` after the commit. `informed` gets the reason in
   * another way.
   */
  closeIn(tx: StoreTx, id: SessionId, reason: string, informed: SessionId | null = null): Promise<ClosedSession> {
    return closeSession(tx, id, { ...this.#options, reason, informed });
  }

  /**
   * Ends what a closed session still does. Resolves when its processes are gone. The node of a session on another node
   * does it when it sees the event.
   */
  async leave({ id, told }: ClosedSession): Promise<void> {
    for (const sender of told) this.wake(sender);
    await this.#options.turns.interrupt(id);
    await this.#options.conversations.close(id);
  }

  /** The session's last message, including streaming text; null if there is none. */
  readonly lastText: LastText = async (from, id) => {
    const saying = this.#options.turns.saying(id);
    return saying === "" ? lastText(from, id) : saying;
  };

  async interrupt(id: SessionId): Promise<boolean> {
    await liveRow(this.#options.store.read, id);
    return this.#options.processes.interrupt(id);
  }

  async markSeen(id: SessionId, client: string, seq: number): Promise<number> {
    await this.#row(id);
    await this.#options.store.transact((tx) => tx.seen.set(client, id, seq));
    return this.#unseen(id, client);
  }

  async turns(id: SessionId, limit: number): Promise<Turn[]> {
    const rows = await this.#options.store.read.turns.list(id, limit);
    return rows.map(publicTurn);
  }

  async turn(id: TurnId): Promise<Turn> {
    const row = await this.#options.store.read.turns.get(id);
    if (!row) throw new AegisError("not_found", `no turn ${id}`);
    return publicTurn(row);
  }

  /** Starts no new turn and waits for the running ones. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#options.turns.drained();
  }

  async #opened({ row, admitted }: CreatedSession): Promise<{ session: SessionView; receipt: Receipt | null }> {
    if (admitted) this.wake(row.id);
    return { session: await this.view(row.id, "default"), receipt: admitted && messageReceipt(admitted, false) };
  }

  async #unseen(id: SessionId, client: string): Promise<number> {
    const { seen, turns } = this.#options.store.read;
    return turns.countEndedAfter(id, await seen.get(client, id));
  }

  async #row(id: SessionId): Promise<SessionRow> {
    const row = await this.#options.store.read.sessions.get(id);
    if (!row) throw unknownSession(id);
    return row;
  }
}

/** The recorded part of a session's view: the usage of its turns, its context, and whether its agent still exists. */
async function recordedView(
  read: Pick<StoreReads, "turns" | "events" | "worktrees">,
  row: SessionRow,
  agents: AgentTable,
): Promise<
  Pick<SessionView, "usage" | "context" | "agent_problem" | "worktree" | "model" | "last_turn_at" | "changes">
> {
  const [usage, [turn], [last], [changed]] = await Promise.all([
    read.turns.usage(row.id),
    read.turns.list(row.id, 1),
    read.events.list({ session: row.id, types: ["turn.context"], limit: 1, from: "newest" }),
    read.events.list({ session: row.id, types: ["changes.recorded"], limit: 1, from: "newest" }),
  ]);
  const context = last?.type === "turn.context" ? { used: last.data.used, size: last.data.size } : null;
  const found = await read.worktrees.get(row.id);
  const worktree = found && {
    dir: found.dir,
    branch: found.branch,
    base: found.base,
    state: found.state,
    port: found.port,
    problem: found.problem,
  };
  return {
    usage,
    context,
    agent_problem: agentProblem(row, agents),
    worktree,
    model: row.limits?.model ?? null,
    last_turn_at: turn === undefined ? null : (turn.ended_at ?? turn.started_at),
    changes: changed?.type === "changes.recorded" ? (changed.data.total ?? null) : null,
  };
}

function agentProblem(row: SessionRow, agents: AgentTable): string | null {
  const isGone = row.closed_at === null && agents.loadAgent(row.agent) === null;
  return isGone ? missingAgent(row.agent) : null;
}
