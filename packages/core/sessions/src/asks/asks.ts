/**
 * Durable questions to people. The row is committed before anyone is notified, and the first valid answer wins. An ask
 * without an answer ends at its deadline or with the turn that waits for it. Asks stay open across restarts; the same
 * question asked again gets the existing ask and its answer.
 */
import type { Ask, AskAnswer, AskStatus } from "@aegis/contract/ask.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { type AskId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { PermissionAnswer, PermissionRequest } from "@aegis/drivers/driver.ts";
import { type Clock, sleepUntil } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { aborted, onAbort } from "@aegis/lib/until-aborted.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import { type Action, type AskRequest, actionDigest, bounded } from "./action.ts";
import { originOf } from "./origin.ts";
import { permissionFrom, permissionQuestion } from "./permission.ts";
import { checkChoice, settledBefore } from "./refusals.ts";

export type AsksOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  /** How long a person has to answer; null for as long as the turn takes. */
  timeoutMs: () => number | null;
  /** The working directory of agents. */
  cwd?: string;
  /** Aborts when the daemon must stop. */
  stopping?: AbortSignal;
};

type Settled = Pick<Ask, "status" | "answer">;
type Ending = {
  status: Exclude<AskStatus, "open">;
  answer?: AskAnswer | null;
  by?: string | null;
  reason?: string | null;
};

/** How long an unclaimed answer stays valid for the same resumed work, if the ask has no deadline. */
const answerKeptMs = 10 * 60_000;
/** How long an ask without a deadline from an earlier daemon waits for its asker. */
const orphanMs = 10 * 60_000;
const readAgainMs = 1_000;
/** `takers` are waiters that consume the answer. The other waiters record the answer themselves. */
type Waiters = PromiseWithResolvers<Settled> & { count: number; takers: number };

export class Asks {
  readonly #options: AsksOptions;
  readonly #waiting = new Map<AskId, Waiters>();
  readonly #timers = new AbortController();

  constructor(options: AsksOptions) {
    this.#options = options;
    options.store.onCommit(
      (events) => {
        for (const event of events) if (event.type === "ask.settled") void this.#settledElsewhere(event.data.ask);
      },
      ["ask.settled"],
      "others",
    );
    options.store.onCommit(
      (events) => {
        for (const event of events)
          if (event.type === "ask.settled" && event.data.status === "withdrawn") this.#release(event.data.ask);
      },
      ["ask.settled"],
      "own",
      this.#waiting,
    );
  }

  /**
   * Asks and waits. Aborting stops waiting; once no caller waits, the ask is withdrawn, unless the daemon is stopping.
   */
  async ask(question: AskRequest, signal: AbortSignal): Promise<Settled> {
    const { ask, waiters } = await this.#join(question);
    if (ask.status !== "open") return ask;
    this.#expireInTime(ask);
    const left = Promise.withResolvers<Settled>();
    const leave = () => {
      waiters.count -= 1;
      waiters.takers -= 1;
      const reason = "the turn or call that asked has ended";
      const taken =
        waiters.count === 0 ? this.#settleQuietly(ask.id, { status: "withdrawn", reason }) : Promise.resolve();
      taken.then(() => left.resolve({ status: "withdrawn", answer: null }));
    };
    const release = onAbort(signal, leave);
    try {
      return await Promise.race([waiters.promise, left.promise]);
    } finally {
      release();
    }
  }

  /** Opens the ask with this id once, inside the caller's transaction. The caller follows it by id. */
  async openIn(tx: StoreTx, id: AskId, question: AskRequest): Promise<Ask> {
    return (await tx.asks.get(id)) ?? this.#insert(tx, id, question);
  }

  /**
   * Waits until an ask is settled, possibly by an earlier daemon. Rejects if the signal aborts or the daemon stops; the
   * ask stays open then. The caller marks the ask as used in the transaction that records its answer.
   */
  async settlement(id: AskId, signal: AbortSignal): Promise<Settled> {
    const waiter = this.#waitersOf(id);
    const ask = await this.get(id);
    if (ask.status !== "open") {
      this.#waiting.delete(id);
      return ask;
    }
    waiter.count += 1;
    this.#expireInTime(ask);
    const left = Promise.withResolvers<never>();
    const release = onAbort(signal, () => {
      waiter.count -= 1;
      left.reject(signal.reason);
    });
    try {
      const settled = await Promise.race([waiter.promise, left.promise]);
      this.#timers.signal.throwIfAborted();
      return settled;
    } finally {
      release();
    }
  }

  /** Withdraws an ask for which no caller waits. */
  withdraw(id: AskId, reason: string): void {
    void this.#settleQuietly(id, { status: "withdrawn", reason });
  }

  /** Withdraws an open ask inside the caller's transaction, for a caller whose record says that no one reads it. */
  async withdrawIn(tx: StoreTx, id: AskId, reason: string): Promise<void> {
    const ask = await tx.asks.get(id);
    if (ask?.status !== "open") return;
    await this.#writeSettlement(tx, ask, { status: "withdrawn", reason }, true);
  }

  /** Handles a permission request of the driver port as an approval. Never rejects. */
  async permission(session: SessionId, request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const { clock, log, stopping } = this.#options;
    for (;;) {
      try {
        return await this.#askPermission(session, request, signal);
      } catch (error) {
        // An agent would take a denial for a decision. The turn of a daemon that stops ends without one and goes on
        // later. A database that is away comes back, and the same question gets the same ask.
        if (stopping?.aborted) await aborted(signal);
        else if (isAegisError(error) && error.code === "unavailable" && !signal.aborted) {
          log.warn("an approval cannot be requested; trying again", { session, error: errorText(error) });
          await clock.sleep(readAgainMs, signal).catch(() => {});
          continue;
        }
        log.error("an approval could not be requested", { session, error: errorText(error) });
        return { decision: "deny", reason: `no person could be asked: ${errorText(error)}` };
      }
    }
  }

  async #askPermission(session: SessionId, request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const { store, cwd = null, timeoutMs } = this.#options;
    const row = await store.read.sessions.get(session);
    if (row?.ask_policy === "deny") return { decision: "deny", reason: "this session has no person to ask" };
    const { tool, gate = false, reason = null, once = false } = request;
    if (!once && (await store.read.asks.hasAnswer({ session, tool, gate, reason }, "always")))
      return { decision: "allow", scope: gate ? "once" : "session" };
    const question = await permissionQuestion(session, request, { cwd, timeoutMs: timeoutMs() });
    const settled = await this.ask(question, signal);
    // An agent would take a denial for a decision, and its turn would end with it before the daemon ends the turn.
    if (settled.status === "withdrawn" && this.#timers.signal.aborted) await aborted(signal);
    return permissionFrom(settled, gate || once);
  }

  /** The first valid answer wins. Throws `conflict` for a later answer or one for another action. */
  async answer(id: AskId, answer: AskAnswer, digest?: string, by = "api"): Promise<Ask> {
    const ask = await this.get(id);
    if (digest !== undefined && digest !== ask.digest) {
      throw new AegisError("conflict", `ask ${id} is no longer about what was approved`, {
        hint: `look at it again (aegis ask show ${id}) and answer what it asks`,
        details: { ask },
      });
    }
    checkChoice(ask, answer);
    return this.#settle(id, { status: "answered", answer, by });
  }

  async get(id: AskId): Promise<Ask> {
    const ask = await this.#options.store.read.asks.get(id);
    if (!ask) throw new AegisError("not_found", `no ask ${id}`, { hint: "`aegis asks` lists the open ones" });
    return ask;
  }

  list(filter: { status?: AskStatus | undefined; limit: number }): Promise<Ask[]> {
    return this.#options.store.read.asks.list(filter);
  }

  /** Watches the deadlines of asks that an earlier daemon left open. */
  async resume(): Promise<void> {
    const { store } = this.#options;
    const node = nodeOf(store);
    for (const ask of await this.list({ status: "open", limit: 10_000 })) {
      const session = node === null ? null : await store.read.sessions.get(ask.session);
      // The node of the session watches its deadlines.
      if (session !== null && session.node !== node) continue;
      this.#expireInTime(ask);
      if (ask.expires_at === null) this.#withdrawOrphan(ask);
    }
  }

  /** Stops watching deadlines. Open asks stay open; their waiters are rejected as if interrupted. */
  stop(): void {
    this.#timers.abort();
    for (const waiter of this.#waiting.values()) waiter.resolve({ status: "withdrawn", answer: null });
    this.#waiting.clear();
  }

  /** The project is in another folder on each node: a session that moved asks the same question there. */
  #digestOf(action: Action, agent: string | null): string {
    const { store, cwd } = this.#options;
    const isProject = nodeOf(store) !== null && action.cwd === cwd;
    return actionDigest(isProject ? { ...action, cwd: null } : action, agent);
  }

  /** Registers the waiter inside the transaction, so that the last other waiter cannot withdraw the ask in between. */
  async #join(question: AskRequest): Promise<{ ask: Ask; waiters: Waiters }> {
    let joined = null as Waiters | null;
    const leave = () => {
      if (joined === null) return;
      joined.count -= 1;
      joined.takers -= 1;
      joined = null;
    };
    try {
      return await this.#options.store.transact(async (tx) => {
        // The unit is run again after a lost connection.
        leave();
        const ask = await this.#open(tx, question);
        const waiters = ask.status === "open" ? this.#waitersOf(ask.id) : noWaiters();
        waiters.count += 1;
        waiters.takers += 1;
        joined = waiters;
        return { ask, waiters };
      });
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** The same question from the same session reuses the existing ask, and its answer if there is one. */
  async #open(tx: StoreTx, question: AskRequest): Promise<Ask> {
    const session = await tx.sessions.get(question.session);
    const digest = this.#digestOf(this.#actionOf(question), session?.agent ?? null);
    const before = await tx.asks.findUnused(question.session, digest);
    if (before?.status === "open") return before;
    if (before) {
      await tx.asks.markUsed(before.id);
      // The approval of an interrupted asker is for the same resumed work, not for the same question much later.
      const until = before.expires_at ?? (before.settled_at ?? 0) + answerKeptMs;
      if (this.#options.clock.now() < until) return before;
    }
    return this.#insert(tx, newId("ask", this.#options.clock.now()), question);
  }

  async #insert(tx: StoreTx, id: AskId, question: AskRequest): Promise<Ask> {
    const now = this.#options.clock.now();
    const session = await tx.sessions.get(question.session);
    const whole = this.#actionOf(question);
    const { action, omitted } = bounded(whole);
    const wait = question.timeoutMs === undefined ? this.#options.timeoutMs() : question.timeoutMs;
    const ask: Ask = {
      ...action,
      id,
      origin: session === null ? null : await originOf(tx, session),
      omitted,
      digest: this.#digestOf(whole, session?.agent ?? null),
      status: "open",
      answer: null,
      created_at: now,
      expires_at: wait === null ? null : now + wait,
      settled_at: null,
      settled_by: null,
      settled_reason: null,
    };
    await tx.asks.insert(ask);
    await tx.events.append({ type: "ask.opened", session: ask.session, data: { ask } }, now);
    return ask;
  }

  #actionOf({ timeoutMs: _, ...question }: AskRequest): Action {
    return { reason: null, gate: false, changes: [], cwd: this.#options.cwd ?? null, ...question };
  }

  async #settle(id: AskId, { status, answer = null, by = null, reason = null }: Ending): Promise<Ask> {
    const settled = await this.#options.store.transact(async (tx) => {
      const ask = await tx.asks.get(id);
      if (!ask) throw new AegisError("not_found", `no ask ${id}`);
      if (ask.status !== "open") throw settledBefore(ask);
      const { count: waiting = 0, takers = 0 } = this.#waiting.get(id) ?? {};
      if (status === "withdrawn" && waiting > 0) throw new AegisError("conflict", `ask ${id} is waited for again`);
      return this.#writeSettlement(tx, ask, { status, answer, by, reason }, status === "withdrawn" || takers > 0);
    });
    // Looked up again: a waiter may have joined during the write.
    this.#waiting.get(id)?.resolve(settled);
    this.#waiting.delete(id);
    return settled;
  }

  async #writeSettlement(tx: StoreTx, ask: Ask, ending: Ending, used: boolean): Promise<Ask> {
    const { status, answer = null, by = null, reason = null } = ending;
    const at = this.#options.clock.now();
    await tx.asks.settle(ask.id, { status, answer, at, used, by, reason });
    const data = { ask: ask.id, status, answer, by, reason };
    await tx.events.append({ type: "ask.settled", session: ask.session, data }, at);
    return { ...ask, status, answer, settled_at: at, settled_by: by, settled_reason: reason };
  }

  /** No waiter of a withdrawn ask gets an answer. */
  #release(id: AskId): void {
    this.#waiting.get(id)?.resolve({ status: "withdrawn", answer: null });
    this.#waiting.delete(id);
  }

  /** Another node stored the settlement. The event has no secrets, so the answer is read from the row. */
  async #settledElsewhere(id: AskId): Promise<void> {
    const { store, clock, log, stopping } = this.#options;
    while (!this.#timers.signal.aborted && stopping?.aborted !== true) {
      const waiters = this.#waiting.get(id);
      if (waiters === undefined) return;
      try {
        const ask = await store.transact(async (tx) => {
          const row = await tx.asks.get(id);
          if (row?.status === "answered" && waiters.takers > 0) await tx.asks.markUsed(id);
          return row;
        });
        this.#waiting.delete(id);
        waiters.resolve(ask ?? { status: "withdrawn", answer: null });
        return;
      } catch (error) {
        log.warn("an answer from another node could not be read; trying again", { ask: id, error: errorText(error) });
        await clock.sleep(readAgainMs, this.#timers.signal).catch(() => {});
      }
    }
  }

  #waitersOf(id: AskId): Waiters {
    const waiters = this.#waiting.get(id) ?? noWaiters();
    this.#waiting.set(id, waiters);
    return waiters;
  }

  /** For endings that may lose against an answer. */
  async #settleQuietly(id: AskId, ending: Ending): Promise<void> {
    if (this.#timers.signal.aborted) return;
    try {
      await this.#settle(id, ending);
    } catch (error) {
      if (error instanceof AegisError && error.code === "conflict") return;
      this.#options.log.error("an ask could not be settled", { ask: id, error: errorText(error) });
      this.#waiting.get(id)?.resolve({ status: ending.status, answer: null });
    }
  }

  #expireInTime(ask: Ask): void {
    if (ask.expires_at === null) return;
    const reason = `no answer within ${Math.round((ask.expires_at - ask.created_at) / 1000)} s`;
    this.#settleAt(ask.expires_at, ask.id, { status: "expired", reason });
  }

  /** An interrupted turn asks again when it resumes. Asks of workflows have deadlines. */
  #withdrawOrphan(ask: Ask): void {
    const reason = "the daemon was restarted, and the agent did not ask again";
    this.#settleAt(this.#options.clock.now() + orphanMs, ask.id, { status: "withdrawn", reason });
  }

  #settleAt(at: number, id: AskId, ending: Ending): void {
    sleepUntil(this.#options.clock, at, this.#timers.signal).then(
      () => this.#settleQuietly(id, ending),
      () => {},
    );
  }
}

function noWaiters(): Waiters {
  return { ...Promise.withResolvers<Settled>(), count: 0, takers: 0 };
}
