/** Subagents: sessions that a session starts for a task, and whose results Aegis delivers to it. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Message, Sender } from "@aegis/contract/message.ts";
import type { KillOutcome, SubagentStatus, SubagentView, Tree, TreeBudgetView } from "@aegis/contract/subagent.ts";
import { errorText } from "@aegis/lib/log.ts";
import { isHere } from "@aegis/nodes/node-of.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { SessionRow, StoreReads, StoreTx, SubagentRow } from "@aegis/store/store.ts";
import type { ReceiptViews } from "@aegis/worktrees/checks/views.ts";
import { subagentFailures } from "../work/failure-texts.ts";
import { findBelow, type PlacedSubagent, placedBelow } from "./address.ts";
import { type EndedSubagents, endingOf, SubagentEndings } from "./endings.ts";
import { historyOf } from "./history.ts";
import { replyTo, type SubagentReply } from "./reply.ts";
import { type NewSubagent, type SpawnOptions, spawnIn } from "./spawn.ts";
import { listTrees } from "./trees.ts";
import { Watch, type WatchOptions } from "./watch.ts";
import { awaitingDelivery, preamble } from "./words.ts";

export type SubagentsOptions = Omit<WatchOptions, "endings"> &
  SpawnOptions & { inbox: Inbox; maxHops: () => number; receipts: ReceiptViews };

/** `unchecked` have said their last word, and their check is still to run. */
export type SettledSubagents = { finished: number; interrupted: number; unchecked: SubagentRow[] };

export type SubagentSend = {
  caller: SessionId;
  sender: Sender;
  to: string;
  text: string;
  /** The idempotency key of the call. */
  id: MessageId;
  cause?: Pick<Message, "chain" | "hops"> | undefined;
  timeoutMs: number;
  signal: AbortSignal;
};

const sweepEveryMs = 60_000;
const mostChildren = 1_000;

export class Subagents {
  readonly #options: SubagentsOptions;
  readonly #endings: SubagentEndings;
  readonly #watch: Watch;
  readonly #stop = new AbortController();
  /** Those that a stop left between their last turn and the result of their check. */
  readonly #unchecked: SubagentRow[] = [];

  constructor(options: SubagentsOptions) {
    this.#options = options;
    this.#endings = new SubagentEndings(options);
    const { store, transact, clock, log, sessions, conversations, waiting, checks, checkConsent } = options;
    this.#watch = new Watch({
      store,
      transact,
      clock,
      log,
      sessions,
      conversations,
      waiting,
      checks,
      checkConsent,
      endings: this.#endings,
    });
    store.onCommit(
      (events) => {
        const refused = events.some((event) => event.type === "session.closed" && event.data.refused.length > 0);
        if (refused) this.#inBackground("results could not be passed on", this.forward());
        for (const event of events) {
          if (event.type !== "pool.released" || event.session === null) continue;
          this.#inBackground("the subagents of a pooled agent could not be ended", this.#endBelow(event.session));
        }
      },
      ["session.closed", "pool.released"],
      "own",
    );
  }

  /** Returns once the subagent is stored. Throws with the reason if it may not start. */
  async spawn(input: NewSubagent): Promise<SubagentRow> {
    const { row, duplicate } = await this.#options.store.transact((tx) => spawnIn(tx, input, this.#options));
    if (duplicate) return row;
    this.#watch.add(row);
    this.#options.sessions.wake(row.session);
    return row;
  }

  /** Sends a message to a subagent of the caller and waits for the answer. Null after the timeout. */
  async send({
    caller,
    sender,
    to,
    text,
    id,
    cause,
    timeoutMs,
    signal,
  }: SubagentSend): Promise<{ to: PlacedSubagent; message: MessageId; reply: SubagentReply | null }> {
    const { store, inbox, sessions, clock } = this.#options;
    const { target, message } = await store.transact(async (tx) => {
      const target = await findBelow(tx, caller, to);
      const repeated = (await tx.messages.get(id)) !== null;
      if (!repeated && target.status !== "running") {
        throw new AegisError("closed", `the subagent "${target.path}" has ended (${target.status})`, {
          hint: "sessions_history shows what it said; sessions_spawn starts another",
        });
      }
      // A pending message with the same text counts as the same message, even if its id differs.
      const { message } = await inbox.admitIn(tx, { id, session: target.session, sender, body: text, cause });
      return { target, message: message.id };
    });
    sessions.wake(target.session);
    const stopped = AbortSignal.any([signal, this.#stop.signal]);
    const deadline = clock.now() + timeoutMs;
    return { to: target, message, reply: await replyTo(message, { store, clock, signal: stopped, deadline }) };
  }

  /** The listed descendants of the caller. */
  async below(caller: SessionId, status?: SubagentStatus): Promise<PlacedSubagent[]> {
    const all = await placedBelow(this.#options.store.read, caller);
    return all.filter((row) => row.archived_at === null && (status === undefined || row.status === status));
  }

  async history(caller: SessionId, reference: string): Promise<string> {
    const { read } = this.#options.store;
    const { session } = await findBelow(read, caller, reference);
    return historyOf(read, session);
  }

  /** Ends a descendant of the caller and everything below it. */
  async kill(caller: SessionId, reference: string): Promise<KillOutcome & { label: string }> {
    const found = await findBelow(this.#options.store.read, caller, reference);
    return { label: found.path, ...(await this.#kill(found, caller)) };
  }

  /** Like `kill`, for a person, who may end any subagent. Throws `not_found`. */
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

  /** All subagents, or the one of a session. */
  async trees(root?: SessionId): Promise<{ budget: TreeBudgetView; trees: Tree[] }> {
    const { agents, spawns, minutes = null, output_tokens = null, usd = null } = this.#options.settings().budget;
    const trees = await listTrees(this.#options.store.read, this.#options.clock.now(), root);
    return { budget: { agents, spawns, minutes, output_tokens, usd }, trees };
  }

  /** What a session still waits for after its turn has ended. */
  async stillRunning(session: SessionId): Promise<string[]> {
    const rows = await this.#options.store.read.subagents.list({
      parent: session,
      status: "running",
      archived: false,
      limit: mostChildren,
    });
    return rows.map((row) => `the subagent "${row.label}"`);
  }

  /** The text that the session receives in addition to its agent's prompt. */
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
   * Ends the subagents that the stop of a node interrupted. A complete last answer is kept; the caller passes those
   * that are to be checked to `adopt` after the commit. Runs before any other recovery, so that no message of an ended
   * subagent is sent again. Idempotent.
   */
  async recoverIn(tx: StoreTx, node: string | null): Promise<SettledSubagents> {
    const { sessions } = this.#options;
    const total: SettledSubagents = { finished: 0, interrupted: 0, unchecked: [] };
    const running = await tx.subagents.running(node);
    for (const row of running.toReversed()) {
      if (await this.#awaitsCheck(tx, row)) total.unchecked.push(row);
    }
    const rest = running.filter((row) => !total.unchecked.includes(row));
    for (const row of rest.toReversed()) {
      const ending = await endingOf(tx, row.session, sessions.lastText);
      const ended = ending === null ? null : await this.#endings.end(tx, row.run_id, ending);
      if (ended !== null) total.finished += 1;
    }
    for (const row of rest) {
      const result = await sessions.lastText(tx, row.session);
      const ended = await this.#endings.end(tx, row.run_id, { status: "error", result, error: subagentFailures.lost });
      if (ended !== null) total.interrupted += ended.rows.length;
    }
    return total;
  }

  /** The next `resume` has them checked. */
  adopt({ unchecked }: SettledSubagents): void {
    this.#unchecked.push(...unchecked);
  }

  /**
   * Repeats unread announcements and watches adopted subagents that run here. Those that are away are checked when their
   * node is back.
   */
  async resume(): Promise<void> {
    const { store } = this.#options;
    await this.forward();
    for (let [row] = this.#unchecked; row !== undefined; [row] = this.#unchecked) {
      if (isHere(store, await store.read.sessions.get(row.session))) this.#watch.add(row);
      this.#unchecked.shift();
    }
  }

  /** Passes on results that were sent to a session that cannot read them any more. */
  async forward(): Promise<void> {
    const { store, transact, sessions } = this.#options;
    for (const { run_id } of await store.read.subagents.unheard()) {
      const reader = await transact(async (tx) => {
        const row = (await tx.subagents.unheard()).find((one) => one.run_id === run_id);
        return row === undefined ? null : this.#endings.forward(tx, row);
      });
      if (reader !== null) sessions.wake(reader);
    }
  }

  /** Archives ended subagents from now on. */
  start(): void {
    this.#inBackground("old subagents are no longer archived", this.#sweepForEver());
  }

  /** Archives subagents that ended longer ago than their time to live. Returns their number. */
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

  /** Cancels all timeouts and releases all waiting callers. */
  stop(): void {
    this.#stop.abort(new AegisError("unavailable", "Aegis is stopping"));
    this.#watch.stop();
  }

  /** Resolves when all ends are stored and the closed sessions are gone. */
  settled(): Promise<void> {
    return this.#watch.settled();
  }

  /** True if its last turn completed, and its check has not begun, has no result yet, or its result was not used. */
  async #awaitsCheck(tx: StoreTx, row: SubagentRow): Promise<boolean> {
    if ((await tx.receipts.check(row.run_id)) === null) return false;
    return (await endingOf(tx, row.session, this.#options.sessions.lastText))?.status === "done";
  }

  async #kill(row: SubagentRow, by: SessionId | null): Promise<KillOutcome> {
    const killer = by === null ? null : await this.#options.store.read.sessions.get(by);
    const ended = await this.#end(row, `killed by ${killer === null ? "a person" : killer.handle}`, by);
    const { status } = await this.#row(row.run_id);
    return { run_id: row.run_id, status, killed: ended?.rows.length ?? 0 };
  }

  #end(row: SubagentRow, error: string, by: SessionId | null): Promise<EndedSubagents | null> {
    return this.#watch.end(async (tx) => {
      const result = await this.#options.sessions.lastText(tx, row.session);
      return this.#endings.end(tx, row.run_id, { status: "killed", result, error }, by);
    });
  }

  /** A lease ends before its subagents do only if its task was interrupted; then no caller waits for them. */
  async #endBelow(session: SessionId): Promise<void> {
    const filter = { parent: session, status: "running", archived: false, limit: mostChildren } as const;
    for (const row of await this.#options.store.read.subagents.list(filter)) {
      await this.#end(row, "the task that it was started for was interrupted", session);
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
    const receipt = (await this.#options.receipts.newest([row.run_id])).get(row.run_id) ?? null;
    return {
      ...subagent,
      handle: await handleOf(read, row.session),
      parent_handle: await handleOf(read, row.parent),
      receipt,
      verified: row.status === "done" && receipt?.state === "passed",
    };
  }
}

async function handleOf(read: StoreReads, session: SessionId): Promise<string> {
  return (await read.sessions.get(session))?.handle ?? session;
}
