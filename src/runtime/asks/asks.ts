/**
 * Questions to people. The row is durable before anybody is asked, the first valid answer wins, and nobody answering
 * is an answer too: the ask expires. After a restart an ask stays open; whoever asks the same again gets its answer.
 */
import { createHash } from "node:crypto";
import { type Ask, type AskAnswer, type AskStatus, permissionChoices } from "../../contract/ask.ts";
import { AegisError } from "../../contract/errors.ts";
import { type AskId, newId, type SessionId } from "../../contract/ids.ts";
import type { PermissionAnswer, PermissionRequest } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { Store, StoreTx } from "../../store/store.ts";

export type AsksOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  /** How long a person has to answer. */
  timeoutMs: () => number;
};

export type Question = Pick<Ask, "session" | "kind" | "question" | "tool" | "detail" | "options"> & {
  timeoutMs?: number;
};

type Settled = Pick<Ask, "status" | "answer">;
type Waiters = PromiseWithResolvers<Settled> & { count: number };

export class Asks {
  readonly #options: AsksOptions;
  readonly #waiting = new Map<AskId, Waiters>();
  readonly #timers = new AbortController();

  constructor(options: AsksOptions) {
    this.#options = options;
  }

  /**
   * Asks and waits. Whoever aborts stops waiting; when nobody waits any more, the question is taken back, unless the daemon
   * itself is stopping.
   */
  async ask(question: Question, signal: AbortSignal): Promise<Settled> {
    const { ask, waiters } = await this.#join(question);
    if (ask.status !== "open") return ask;
    this.#expireInTime(ask);
    const left = Promise.withResolvers<Settled>();
    const leave = () => {
      waiters.count -= 1;
      const taken = waiters.count === 0 ? this.#settleQuietly(ask.id, "withdrawn") : Promise.resolve();
      taken.then(() => left.resolve({ status: "withdrawn", answer: null }));
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([waiters.promise, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Opens the ask of this id once, inside a transaction of the caller, who follows it by its id. */
  async openIn(tx: StoreTx, id: AskId, question: Question): Promise<Ask> {
    return (await tx.asks.get(id)) ?? this.#insert(tx, id, question);
  }

  /**
   * Waits until an ask is settled, also by an earlier daemon. Rejects when the signal aborts, or the daemon stops: the ask
   * stays open.
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
    const onAbort = () => {
      waiter.count -= 1;
      left.reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const settled = await Promise.race([waiter.promise, left.promise]);
      this.#timers.signal.throwIfAborted();
      return settled;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Takes a question back that nobody waits for any more. */
  withdraw(id: AskId): void {
    void this.#settleQuietly(id, "withdrawn");
  }

  /** An approval in the terms of the driver port. Never rejects. */
  async permission(session: SessionId, request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    try {
      const row = await this.#options.store.read.sessions.get(session);
      if (row?.ask_policy === "deny")
        return { decision: "deny", reason: "nobody is there to be asked in this session" };
      if (await this.#alwaysAllowed(session, request.tool)) return { decision: "allow", scope: "session" };
      const settled = await this.ask(
        {
          session,
          kind: "permission",
          question: request.title,
          tool: request.tool,
          detail: request.input,
          options: [...permissionChoices],
        },
        signal,
      );
      return permissionFrom(settled);
    } catch (error) {
      this.#options.log.error("an approval could not be asked for", { session, error: errorText(error) });
      return { decision: "deny", reason: `nobody could be asked: ${errorText(error)}` };
    }
  }

  /** The first valid answer wins. Throws `conflict` for a later one or one meant for another action. */
  async answer(id: AskId, answer: AskAnswer, digest?: string): Promise<Ask> {
    const ask = await this.get(id);
    if (digest !== undefined && digest !== ask.digest) {
      throw new AegisError("conflict", `ask ${id} is about something else now than what was approved`, {
        hint: "look at it again and answer what it asks",
      });
    }
    checkChoice(ask, answer);
    return this.#settle(id, "answered", answer);
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
    for (const ask of await this.list({ status: "open", limit: 10_000 })) this.#expireInTime(ask);
  }

  /** Stops watching deadlines. Open asks stay open; those who wait for them are let go as if they had been cut. */
  stop(): void {
    this.#timers.abort();
    for (const waiter of this.#waiting.values()) waiter.resolve({ status: "withdrawn", answer: null });
    this.#waiting.clear();
  }

  /** Counts among those who wait within the transaction, so that no last one leaves unnoticed in between. */
  async #join(question: Question): Promise<{ ask: Ask; waiters: Waiters }> {
    let joined: Waiters | null = null;
    try {
      return await this.#options.store.transact(async (tx) => {
        const ask = await this.#open(tx, question);
        const waiters = ask.status === "open" ? this.#waitersOf(ask.id) : nobody();
        waiters.count += 1;
        joined = waiters;
        return { ask, waiters };
      });
    } catch (error) {
      if (joined !== null) (joined as Waiters).count -= 1;
      throw error;
    }
  }

  /** The same question of the same session again gets the ask that is there, and its answer if it has one by now. */
  async #open(tx: StoreTx, question: Question): Promise<Ask> {
    const digest = digestOf(question);
    const before = await tx.asks.findUnused(question.session, digest);
    if (before?.status === "open") return before;
    if (before) {
      await tx.asks.markUsed(before.id);
      // An approval whose asker was cut is for the same work taken up again, not for whatever asks the same much later.
      if (this.#options.clock.now() < before.expires_at) return before;
    }
    return this.#insert(tx, newId("ask", this.#options.clock.now()), question);
  }

  async #insert(tx: StoreTx, id: AskId, question: Question): Promise<Ask> {
    const now = this.#options.clock.now();
    const { timeoutMs, ...rest } = question;
    const ask: Ask = {
      ...rest,
      id,
      digest: digestOf(question),
      status: "open",
      answer: null,
      created_at: now,
      expires_at: now + (timeoutMs ?? this.#options.timeoutMs()),
      settled_at: null,
    };
    await tx.asks.insert(ask);
    await tx.events.append({ type: "ask.opened", session: ask.session, data: { ask } }, now);
    return ask;
  }

  async #settle(id: AskId, status: Exclude<AskStatus, "open">, answer: AskAnswer | null): Promise<Ask> {
    const settled = await this.#options.store.transact(async (tx) => {
      const ask = await tx.asks.get(id);
      if (!ask) throw new AegisError("not_found", `no ask ${id}`);
      if (ask.status !== "open") throw new AegisError("conflict", `ask ${id} is ${ask.status} already`);
      const waiting = this.#waiting.get(id)?.count ?? 0;
      if (status === "withdrawn" && waiting > 0) throw new AegisError("conflict", `ask ${id} is waited for again`);
      const now = this.#options.clock.now();
      await tx.asks.settle(id, { status, answer, at: now, used: status === "withdrawn" || waiting > 0 });
      await tx.events.append({ type: "ask.settled", session: ask.session, data: { ask: id, status, answer } }, now);
      return { ...ask, status, answer, settled_at: now };
    });
    // Looked up again: somebody may have begun to wait while this was written.
    this.#waiting.get(id)?.resolve(settled);
    this.#waiting.delete(id);
    return settled;
  }

  #waitersOf(id: AskId): Waiters {
    const waiters = this.#waiting.get(id) ?? nobody();
    this.#waiting.set(id, waiters);
    return waiters;
  }

  /** For ends that may come too late: somebody's answer was first. */
  async #settleQuietly(id: AskId, status: "expired" | "withdrawn"): Promise<void> {
    if (this.#timers.signal.aborted) return;
    try {
      await this.#settle(id, status, null);
    } catch (error) {
      if (error instanceof AegisError && error.code === "conflict") return;
      this.#options.log.error("an ask could not be settled", { ask: id, error: errorText(error) });
      this.#waiting.get(id)?.resolve({ status, answer: null });
    }
  }

  #expireInTime(ask: Ask): void {
    const { clock } = this.#options;
    const wait = Math.max(0, ask.expires_at - clock.now());
    clock.sleep(wait, this.#timers.signal).then(
      () => this.#settleQuietly(ask.id, "expired"),
      () => {},
    );
  }

  async #alwaysAllowed(session: SessionId, tool: string): Promise<boolean> {
    return this.#options.store.read.asks.hasAnswer(session, tool, "always");
  }
}

function nobody(): Waiters {
  return { ...Promise.withResolvers<Settled>(), count: 0 };
}

function permissionFrom({ status, answer }: Settled): PermissionAnswer {
  if (status === "expired") return { decision: "deny", reason: "nobody answered in time" };
  if (status === "withdrawn" || !answer)
    return { decision: "deny", reason: "the turn was cut before anybody answered" };
  if (answer.choice === "allow") return { decision: "allow", scope: "once" };
  if (answer.choice === "always") return { decision: "allow", scope: "session" };
  return { decision: "deny", reason: answer.text === "" ? "denied by a person" : answer.text };
}

function checkChoice(ask: Ask, answer: AskAnswer): void {
  if (ask.options.length === 0 || (answer.choice !== null && ask.options.includes(answer.choice))) return;
  const given = answer.choice ?? answer.text;
  throw new AegisError("invalid", `"${given}" is no answer to ask ${ask.id}${didYouMean(given, ask.options)}`, {
    hint: `answers: ${ask.options.join(", ")}`,
  });
}

function digestOf(question: Question): string {
  const { kind, question: text, tool, detail, options } = question;
  return createHash("sha256")
    .update(JSON.stringify([kind, text, tool, detail, options]))
    .digest("hex")
    .slice(0, 16);
}
