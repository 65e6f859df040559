/** Subagents: sessions that a session starts for a task of its own, and whose results come back to it by themselves. */
import { AegisError } from "../../contract/errors.ts";
import type { MessageId, SessionId } from "../../contract/ids.ts";
import type { Message, Sender } from "../../contract/message.ts";
import type { KillOutcome, SubagentStatus, SubagentView, Tree, TreeBudgetView } from "../../contract/subagent.ts";
import { errorText } from "../../lib/log.ts";
import type { SessionRow, StoreReads, SubagentRow } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { lastWords } from "../sessions/last-words.ts";
import { findBelow, type Placed, placedBelow } from "./address.ts";
import { type Ended, Endings } from "./endings.ts";
import { historyOf } from "./history.ts";
import { interruptedError, judge } from "./judge.ts";
import { type Reply, replyTo } from "./reply.ts";
import { type NewSubagent, type SpawnOptions, spawnIn } from "./spawn.ts";
import { listTrees } from "./trees.ts";
import { Watch, type WatchOptions } from "./watch.ts";
import { awaitingDelivery, preamble } from "./words.ts";

export type SubagentsOptions = Omit<WatchOptions, "endings"> & SpawnOptions & { inbox: Inbox; maxHops: () => number };

export type RecoveredSubagents = { finished: number; interrupted: number };

export type Sent = {
  caller: SessionId;
  sender: Sender;
  to: string;
  text: string;
  /** The same for a repeated call. */
  id: MessageId;
  cause?: Pick<Message, "chain" | "hops"> | undefined;
  timeoutMs: number;
  signal: AbortSignal;
};

const sweepEveryMs = 60_000;
const mostChildren = 1_000;

export class Subagents {
  readonly #options: SubagentsOptions;
  readonly #endings: Endings;
  readonly #watch: Watch;
  readonly #stop = new AbortController();

  constructor(options: SubagentsOptions) {
    this.#options = options;
    this.#endings = new Endings(options);
    this.#watch = new Watch({ ...options, endings: this.#endings });
    options.store.onCommit((events) => {
      this.#watch.notice(events);
      const refused = events.some((event) => event.type === "session.closed" && event.data.refused.length > 0);
      if (refused) this.#inBackground("results could not be passed on", this.#forward());
      for (const event of events) {
        if (event.type !== "pool.released" || event.session === null) continue;
        this.#inBackground("the subagents of a pooled agent could not be ended", this.#endBelow(event.session));
      }
    });
  }

  /** Returns as soon as it is on record. Throws with the reason when it may not be started. */
  async spawn(input: NewSubagent): Promise<SubagentRow> {
    const { row, duplicate } = await this.#options.store.transact((tx) => spawnIn(tx, input, this.#options));
    if (duplicate) return row;
    this.#watch.add(row);
    this.#options.sessions.wake(row.session);
    return row;
  }

  /** Asks one of the caller's own and waits for the answer; null when the time is over, and the message stays. */
  async send({
    caller,
    sender,
    to,
    text,
    id,
    cause,
    timeoutMs,
    signal,
  }: Sent): Promise<{ to: Placed; message: MessageId; reply: Reply | null }> {
    const { store, inbox, sessions, clock } = this.#options;
    const { target, message } = await store.transact(async (tx) => {
      const target = await findBelow(tx, caller, to);
      const repeated = (await tx.messages.get(id)) !== null;
      if (!repeated && target.status !== "running") {
        throw new AegisError("closed", `the subagent "${target.path}" has ended (${target.status})`, {
          hint: "sessions_history shows what it said; sessions_spawn starts another",
        });
      }
      // The same text that still waits to be read is the same message, whatever id it was given.
      const { message } = await inbox.admitIn(tx, { id, session: target.session, sender, body: text, cause });
      return { target, message: message.id };
    });
    sessions.wake(target.session);
    const stopped = AbortSignal.any([signal, this.#stop.signal]);
    return { to: target, message, reply: await replyTo(message, { store, clock, signal: stopped, timeoutMs }) };
  }

  /** Those below the caller that are still listed. */
  async below(caller: SessionId, status?: SubagentStatus): Promise<Placed[]> {
    const all = await placedBelow(this.#options.store.read, caller);
    return all.filter((row) => row.archived_at === null && (status === undefined || row.status === status));
  }

  async history(caller: SessionId, reference: string): Promise<string> {
    const { read } = this.#options.store;
    const { session } = await findBelow(read, caller, reference);
    return historyOf(read, session);
  }

  /** Ends one of the caller's own and everything below it. */
  async kill(caller: SessionId, reference: string): Promise<KillOutcome & { label: string }> {
    const found = await findBelow(this.#options.store.read, caller, reference);
    return { label: found.path, ...(await this.#kill(found, caller)) };
  }

  /** The same for a person, who may end any. Throws `not_found`. */
  async killRun(runId: string): Promise<KillOutcome> {
    return this.#kill(await this.#row(runId), null);
  }

  async view(runId: string): Promise<SubagentView> {
    return this.#view(await this.#row(runId));
  }

  async list(filter: {
    status?: SubagentStatus | undefined;
    archived: boolean;
    limit: number;
  }): Promise<SubagentView[]> {
    const rows = await this.#options.store.read.subagents.list(filter);
    return Promise.all(rows.map((row) => this.#view(row)));
  }

  async trees(): Promise<{ budget: TreeBudgetView; trees: Tree[] }> {
    const { agents, spawns, minutes = null, output_tokens = null, usd = null } = this.#options.settings().budget;
    const trees = await listTrees(this.#options.store.read);
    return { budget: { agents, spawns, minutes, output_tokens, usd }, trees };
  }

  /** What keeps a session from being done although its turn is over. */
  async stillRunning(session: SessionId): Promise<string[]> {
    const rows = await this.#options.store.read.subagents.list({
      parent: session,
      status: "running",
      archived: false,
      limit: mostChildren,
    });
    return rows.map((row) => `the subagent "${row.label}"`);
  }

  /** What the session is told besides its agent's prompt. */
  async briefing(session: SessionRow): Promise<string> {
    const { read } = this.#options.store;
    const own = await read.subagents.ofSession(session.id);
    const parent = own === null ? null : await read.sessions.get(own.parent);
    const maySpawn = !(session.limits?.deny_tools ?? []).includes("sessions_spawn");
    const waiting = await read.subagents.undelivered(session.id);
    return [
      own === null ? "" : preamble(own, parent?.handle ?? own.parent, maySpawn),
      waiting.length === 0 ? "" : awaitingDelivery(waiting),
    ]
      .filter((part) => part !== "")
      .join("\n\n");
  }

  /**
   * Ends what a stop left at work; one that had said its last word keeps it. Run it before any other recovery, so that no
   * message of an ended one is sent again. Safe to run again after a crash in the middle of it.
   */
  async recover(): Promise<RecoveredSubagents> {
    const { store } = this.#options;
    const total: RecoveredSubagents = { finished: 0, interrupted: 0 };
    const running = await store.read.subagents.running();
    for (const row of running.toReversed()) {
      const ended = await store.transact(async (tx) => {
        const ending = await judge(tx, row);
        return ending === null ? null : this.#endings.end(tx, row.run_id, ending);
      });
      if (ended !== null) total.finished += 1;
    }
    for (const row of running) {
      const ended = await store.transact(async (tx) => {
        const result = await lastWords(tx, row.session);
        return this.#endings.end(tx, row.run_id, { status: "error", result, error: interruptedError });
      });
      if (ended !== null) total.interrupted += ended.rows.length;
    }
    return total;
  }

  /** Passes on what nobody read, and from now on archives what has had its time. Run it after the other recoveries. */
  async start(): Promise<void> {
    await this.#forward();
    this.#inBackground("old subagents are no longer archived", this.#sweepForEver());
  }

  /** Archives those that ended longer ago than their time to live. Gives how many. */
  async sweep(): Promise<number> {
    const { store, clock, settings } = this.#options;
    const before = clock.now() - settings().session_ttl_minutes * 60_000;
    const expired = await store.read.subagents.expired(before);
    for (const row of expired) {
      const closed = await store.transact((tx) => this.#endings.archive(tx, row));
      for (const one of closed) await this.#watch.leave(one);
    }
    return expired.length;
  }

  /** No more time limits, nobody waits any longer. */
  stop(): void {
    this.#stop.abort(new AegisError("unavailable", "Aegis is stopping"));
    this.#watch.stop();
  }

  /** Resolves when everything that had ended is on record and gone. */
  settled(): Promise<void> {
    return this.#watch.settled();
  }

  async #kill(row: SubagentRow, by: SessionId | null): Promise<KillOutcome> {
    const killer = by === null ? null : await this.#options.store.read.sessions.get(by);
    const ended = await this.#end(row, `killed by ${killer === null ? "a person" : killer.handle}`, by);
    const { status } = await this.#row(row.run_id);
    return { run_id: row.run_id, status, killed: ended?.rows.length ?? 0 };
  }

  #end(row: SubagentRow, error: string, by: SessionId | null): Promise<Ended | null> {
    return this.#watch.end(async (tx) => {
      const result = await lastWords(tx, row.session);
      return this.#endings.end(tx, row.run_id, { status: "killed", result, error }, by);
    });
  }

  /** A pooled agent is let go of while others work for it only when its task was cut: nobody waits for them any more. */
  async #endBelow(session: SessionId): Promise<void> {
    const filter = { parent: session, status: "running", archived: false, limit: mostChildren } as const;
    for (const row of await this.#options.store.read.subagents.list(filter)) {
      await this.#end(row, "the task it was started for was cut", session);
    }
  }

  async #forward(): Promise<void> {
    const { store, persist, sessions } = this.#options;
    for (const { run_id } of await store.read.subagents.unheard()) {
      const reader = await persist(async (tx) => {
        const row = (await tx.subagents.unheard()).find((one) => one.run_id === run_id);
        return row === undefined ? null : this.#endings.forward(tx, row);
      });
      if (reader !== null) sessions.wake(reader);
    }
  }

  async #sweepForEver(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.sweep().catch((error: unknown) => {
        if (!this.#stop.signal.aborted) log.error("old subagents could not be archived", { error: errorText(error) });
      });
      await clock.sleep(sweepEveryMs, this.#stop.signal);
    }
  }

  #inBackground(what: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#options.log.error(what, { error: errorText(error) });
    });
  }

  async #row(runId: string): Promise<SubagentRow> {
    const row = await this.#options.store.read.subagents.get(runId);
    if (row) return row;
    throw new AegisError("not_found", `no subagent ${runId}`, { hint: "`aegis tree` shows them" });
  }

  async #view(row: SubagentRow): Promise<SubagentView> {
    const { read } = this.#options.store;
    const { chain: _, hops: __, ...subagent } = row;
    return { ...subagent, handle: await handleOf(read, row.session), parent_handle: await handleOf(read, row.parent) };
  }
}

async function handleOf(read: StoreReads, session: SessionId): Promise<string> {
  return (await read.sessions.get(session))?.handle ?? session;
}
