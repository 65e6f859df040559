/** Sessions: create, find, rename, close; what is waiting in them is drained one turn after the other. */
import { AegisError } from "../../contract/errors.ts";
import { type MessageId, newId, type SessionId, type TurnId } from "../../contract/ids.ts";
import type { Receipt } from "../../contract/message.ts";
import { handlePattern, type SessionView, type TitleSource } from "../../contract/session.ts";
import type { Turn } from "../../contract/turn.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { SessionRow, Store, StoreTx } from "../../store/store.ts";
import { type Inbox, receiptOf } from "../inbox/inbox.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import type { DriverRegistry } from "../registry/drivers.ts";
import { type Closed, closeSession } from "./close.ts";
import type { Conversations } from "./conversations.ts";
import { type Created, createSession } from "./create.ts";
import { Drains } from "./drains.ts";
import { forkPointOf } from "./fork.ts";
import type { NewSession } from "./new-session.ts";
import { findSession, liveRow, publicSession, publicTurn, unknownSession } from "./rows.ts";
import { cleanTitle, mayRetitle } from "./titles.ts";
import type { Turns } from "./turns.ts";
import { unfinished } from "./unfinished.ts";

export type SessionsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  agents: AgentRegistry;
  drivers: DriverRegistry;
  inbox: Inbox;
  turns: Turns;
  conversations: Conversations;
};

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #drains: Drains;
  #resting = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#drains = new Drains(
      async (session, signal) => {
        while (!signal.aborted && (await options.turns.next(session))) {}
      },
      (session, error) => options.log.error("a session stopped draining", { session, error: errorText(error) }),
    );
  }

  async create(input: NewSession): Promise<{ session: SessionView; receipt: Receipt | null }> {
    const { store, clock } = this.#options;
    const id = input.id ?? newId("ses", clock.now());
    return this.#opened(await store.transact((tx) => this.createIn(tx, { ...input, id })));
  }

  /** A new session of the same agent that begins with what this one remembers. */
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
      return this.createIn(tx, { ...input, id: fresh, agent, ask_policy, depth, limits, fork: { from: id, point } });
    });
    return this.#opened(made);
  }

  /** Creates inside a transaction of the caller, who wakes the session after the commit. */
  createIn(tx: StoreTx, input: NewSession): Promise<Created> {
    return createSession(tx, input, this.#options);
  }

  /** A hint that the session has work. Safe to lose. */
  wake(session: SessionId): void {
    if (!this.#resting) this.#drains.wake(session);
  }

  /** Lets no turn begin until `wakeAll`: what is admitted meanwhile waits in its row. */
  rest(): void {
    this.#resting = true;
  }

  /** Wakes every session that has waiting messages. */
  async wakeAll(): Promise<void> {
    this.#resting = false;
    for (const session of await this.#options.store.read.messages.waiting()) this.wake(session);
  }

  /** By id, else by the handle of a live session, else by that of the one closed last. */
  resolve(reference: string): Promise<SessionRow> {
    return findSession(this.#options.store.read, reference);
  }

  async view(id: SessionId, client: string): Promise<SessionView> {
    const row = await this.#row(id);
    const pending = await this.#options.store.read.messages.countPending(id);
    return { ...publicSession(row), pending, unseen: await this.#unseen(id, client) };
  }

  async list(filter: { closed: boolean; client: string }): Promise<SessionView[]> {
    const { read } = this.#options.store;
    const [rows, pending] = await Promise.all([
      read.sessions.list(filter.closed ? {} : { closed: false }),
      read.messages.pendingBySession(),
    ]);
    return Promise.all(
      rows.map(async (row) => ({
        ...publicSession(row),
        pending: pending.get(row.id) ?? 0,
        unseen: await this.#unseen(row.id, filter.client),
      })),
    );
  }

  async rename(id: SessionId, handle: string): Promise<void> {
    if (!handlePattern.test(handle)) {
      throw new AegisError("invalid", `"${handle}" is no handle: two or three lower-case words joined by dashes are`);
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

  /** An empty title clears it. Throws `conflict` when a title of a higher rank is set. */
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
      const titleSource = title === "" ? null : source;
      await tx.sessions.update(id, { title, title_source: titleSource });
      await tx.events.append(
        { type: "session.titled", session: id, data: { title, source: titleSource } },
        this.#options.clock.now(),
      );
    });
  }

  /** Closes for good: waiting messages are refused and their senders told, the turn under way is cut. */
  async close(id: SessionId, reason: string): Promise<MessageId[]> {
    const closed = await this.#options.store.transact((tx) => this.closeIn(tx, id, reason));
    await this.leave(closed);
    return closed.refused;
  }

  /** Closes a session that has nothing left to do; otherwise it stays, and every reason for that is given. */
  async closeIdle(id: SessionId, reason: string): Promise<string[]> {
    const { reasons, closed } = await this.#options.store.transact(async (tx) => {
      const reasons = await unfinished(tx, await liveRow(tx, id));
      return { reasons, closed: reasons.length > 0 ? null : await this.closeIn(tx, id, reason) };
    });
    if (closed) await this.leave(closed);
    return reasons;
  }

  /** Closes inside a transaction of the caller, who has it leave after the commit. `informed` learns it elsewhere. */
  closeIn(tx: StoreTx, id: SessionId, reason: string, informed: SessionId | null = null): Promise<Closed> {
    return closeSession(tx, id, { ...this.#options, reason, informed });
  }

  /** Ends what a closed session still does. Resolves when its processes are gone. */
  async leave({ id, told }: Closed): Promise<void> {
    for (const sender of told) this.wake(sender);
    await this.#options.turns.interrupt(id);
    await this.#options.conversations.close(id);
  }

  async interrupt(id: SessionId): Promise<boolean> {
    await liveRow(this.#options.store.read, id);
    return this.#options.turns.interrupt(id);
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

  /** Starts no new turn and waits for those under way. */
  async stop(): Promise<void> {
    await this.#drains.stop();
  }

  async #opened({ row, admitted }: Created): Promise<{ session: SessionView; receipt: Receipt | null }> {
    if (admitted) this.wake(row.id);
    return { session: await this.view(row.id, "default"), receipt: admitted && receiptOf(admitted, false) };
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
