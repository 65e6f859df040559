/**
 * Watches running subagents: ends each one after its last turn or at its timeout, independent of its harness, and
 * verifies that closed sessions are gone.
 */
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Conversations } from "@aegis/sessions/conversations.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Store, StoreTx, SubagentRow } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { CheckOutcome, Checks, Verification } from "@aegis/worktrees/checks/checks.ts";
import type { CheckConsent } from "@aegis/worktrees/checks/consent.ts";
import type { StillWaiting } from "../work/judge.ts";
import { verifyWork } from "../work/verify.ts";
import { WatchedSessions } from "../work/watched-sessions.ts";
import { type EndedSubagents, endingOf, type SubagentEndings } from "./endings.ts";
import type { SubagentEnding } from "./words.ts";

export type WatchOptions = {
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  sessions: Sessions;
  conversations: Conversations;
  endings: SubagentEndings;
  waiting: readonly StillWaiting[];
  checks: Checks;
  checkConsent: CheckConsent;
};

export class Watch {
  readonly #options: WatchOptions;
  readonly #sessions: WatchedSessions<SubagentRow["run_id"]>;

  constructor(options: WatchOptions) {
    this.#options = options;
    const { store, clock, log } = options;
    this.#sessions = new WatchedSessions({
      store,
      clock,
      log,
      name: "subagent",
      check: (session, runId) => this.#examine(session, runId),
    });
  }

  /** Starts to watch a subagent. */
  add(row: SubagentRow): void {
    if (this.#sessions.stopped.aborted || this.#sessions.get(row.session) !== undefined) return;
    this.#sessions.add(row.session, row.run_id, row.deadline, () => this.#expire(row));
    this.#sessions.check(row.session);
  }

  /** Ends it as the transaction decides and performs the side effects. Returns null if there was nothing to end. */
  async end(decide: (tx: StoreTx) => Promise<EndedSubagents | null>): Promise<EndedSubagents | null> {
    const ended = await this.#options.transact(decide);
    if (ended === null) return null;
    for (const row of ended.rows) this.#sessions.remove(row.session);
    if (ended.told) this.#options.sessions.wake(ended.told);
    await Promise.all(ended.closed.map((closed) => this.leave(closed)));
    return ended;
  }

  /** Resolves when the processes of the closed session are gone, or after a deadline. */
  leave(closed: EndedSubagents["closed"][number]): Promise<void> {
    return this.#sessions.leave(closed.id, this.#options.sessions.leave(closed));
  }

  /** Cancels all timeouts. The next daemon start handles unfinished work. */
  stop(): void {
    this.#sessions.stop();
  }

  /** Resolves when all ends are stored and the closed sessions are gone. */
  settled(): Promise<void> {
    return this.#sessions.settled();
  }

  async #examine(session: SessionId, runId: string): Promise<void> {
    const { store, sessions, endings, waiting, conversations } = this.#options;
    const row = await store.read.subagents.get(runId);
    if (row?.status !== "running") return this.#sessions.remove(session);
    // First outside the transaction: most looks find work in progress, and what it waits for is read from other parts.
    const found = await endingOf(store.read, session, sessions.lastText, waiting);
    if (found === null) return;
    const [turn] = await store.read.turns.list(session, 1);
    const stillTrue = async (tx: StoreTx) =>
      (await tx.turns.list(session, 1))[0]?.id === turn?.id && (await tx.messages.countPending(session)) === 0;
    const isDone = found.status === "done" && turn !== undefined;
    const verified = isDone ? await this.#verify(row, turn.id, stillTrue) : "none";
    if (verified === "over" || (verified !== "none" && verified.outcome === "returned")) return;
    const ended = await this.end(async (tx) => {
      const ending = await endingOf(tx, session, sessions.lastText);
      if (ending === null) return null;
      if (verified !== "none") {
        return (await stillTrue(tx)) ? endings.end(tx, row.run_id, checkedEnding(ending, verified)) : null;
      }
      // It may have completed another turn meanwhile, which is not checked yet.
      const isUnchecked = ending.status === "done" && (await tx.receipts.check(row.run_id)) !== null;
      return isUnchecked ? null : endings.end(tx, row.run_id, ending);
    });
    // A session that is only kept for reading needs no process.
    if (ended !== null && ended.closed.length === 0) await conversations.close(session);
  }

  #verify({ run_id, session }: SubagentRow, turn: TurnId, stillTrue: Verification["stillTrue"]) {
    const { store, checks, checkConsent } = this.#options;
    const signal = this.#sessions.signalOf(session);
    return verifyWork(
      { kind: "subagent", subject: run_id, scope: run_id, session, turn, signal, stillTrue },
      {
        checks,
        async find() {
          const named = await store.read.receipts.check(run_id);
          if (named === null) return null;
          const { by, ...check } = named;
          return { check, consent: () => checkConsent(by, check.command) };
        },
      },
    );
  }

  async #expire(row: SubagentRow): Promise<void> {
    const { clock, endings, sessions } = this.#options;
    await this.end(async (tx) => {
      const { run_id, session, timeout } = await highestExpired(tx, row, clock.now());
      const result = await sessions.lastText(tx, session);
      return endings.end(tx, run_id, { status: "timeout", result, error: `Timed out after ${timeout}s` });
    });
  }
}

/** A failed check makes an error of what the subagent calls done. */
function checkedEnding(ending: SubagentEnding, verified: CheckOutcome): SubagentEnding {
  if (ending.status !== "done" || verified.outcome !== "failed") return ending;
  return { ...ending, status: "error", error: verified.error };
}

/** A subagent with the remaining time of its parent ends together with it, not shortly before. */
async function highestExpired(tx: StoreTx, row: SubagentRow, now: number): Promise<SubagentRow> {
  const above = await tx.subagents.ofSession(row.parent);
  const isOver = above?.status === "running" && above.deadline <= now;
  return isOver ? highestExpired(tx, above, now) : row;
}
