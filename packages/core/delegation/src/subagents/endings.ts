/**
 * Ends subagents: derives the outcome from the verdict on a session, and notifies the parent. One transaction writes
 * the status, the ends of descendants and the announcement, so that each end is announced exactly once, even across a
 * crash.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { ClosedSession } from "@aegis/sessions/close.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { LastText } from "@aegis/sessions/last-text.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { StoreReads, StoreTx, SubagentRow } from "@aegis/store/store.ts";
import { subagentFailures } from "../work/failure-texts.ts";
import { judge, type StillWaiting } from "../work/judge.ts";
import { receiptOf } from "../work/receipt-of.ts";
import { tellAsker } from "../work/tell-asker.ts";
import { announcement, type SubagentEnding } from "./words.ts";

/** Null while the subagent or one of its descendants has work left. */
export async function endingOf(
  from: StoreReads | StoreTx,
  session: SessionId,
  lastText: LastText,
  waiting: readonly StillWaiting[] = [],
): Promise<SubagentEnding | null> {
  const verdict = await judge(from, session, waiting, subagentFailures);
  if (verdict.kind !== "ended") return null;
  const { turn, error } = verdict;
  if (turn === null) return { status: "killed", result: await lastText(from, session), error };
  if ((await from.subagents.countRunning(session)) > 0) return null;
  return { status: error === null ? "done" : "error", result: turn.text === "" ? null : turn.text, error };
}

export type SubagentEndingsOptions = { clock: Clock; inbox: Inbox; sessions: Sessions; maxHops: () => number };

/** After the commit, wake `told` and stop `closed`. `rows` are all that ended, the requested one first. */
export type EndedSubagents = { rows: SubagentRow[]; closed: ClosedSession[]; told: SessionId | null };

export class SubagentEndings {
  readonly #options: SubagentEndingsOptions;

  constructor(options: SubagentEndingsOptions) {
    this.#options = options;
  }

  /**
   * Returns null if it had already ended. Running descendants end with it. `answered` is a session that learns of the
   * end from the result of its own call.
   */
  async end(
    tx: StoreTx,
    runId: string,
    ending: SubagentEnding,
    answered: SessionId | null = null,
  ): Promise<EndedSubagents | null> {
    const row = await tx.subagents.get(runId);
    if (row?.status !== "running") return null;
    const closed: ClosedSession[] = [];
    const below = (await tx.subagents.below(row.session)).filter((one) => one.status === "running");
    // From the leaves up, so that no ended subagent receives an announcement of its descendants.
    for (const one of below.reverse()) {
      const result = await this.#options.sessions.lastText(tx, one.session);
      const status = ending.status === "error" ? "error" : "killed";
      await this.#write(tx, one, { status, result, error: `ended together with "${row.label}"` });
      closed.push(...(await this.#close(tx, one)));
      await this.#record(tx, one, { announced_to: null, announcement: null });
      if (one.cleanup === "delete") await this.archive(tx, one);
    }
    await this.#write(tx, row, ending);
    const goesOn = ending.status === "done" && row.cleanup === "keep";
    if (!goesOn) closed.push(...(await this.#close(tx, row)));
    const to =
      answered === row.parent
        ? { announced_to: answered, announcement: null }
        : await this.#tell(tx, row, row.parent, ending);
    await tx.subagents.announce(runId, to);
    await this.#record(tx, row, to);
    if (row.cleanup === "delete") await this.archive(tx, row);
    return { rows: [row, ...below], closed, told: to.announcement === null ? null : to.announced_to };
  }

  /** Repeats an announcement that no session has read. Returns the session to wake. */
  async forward(tx: StoreTx, row: SubagentRow): Promise<SessionId | null> {
    if (row.status === "running" || row.announced_to === null) return null;
    const { status, result, error } = row;
    const to = await this.#tell(tx, row, row.announced_to, { status, result, error });
    await tx.subagents.announce(row.run_id, to);
    await tx.events.append(
      { type: "subagent.forwarded", session: row.parent, data: { run_id: row.run_id, label: row.label, ...to } },
      this.#options.clock.now(),
    );
    return to.announced_to;
  }

  /** Archives an ended subagent and closes its session if it is open. */
  async archive(tx: StoreTx, row: SubagentRow): Promise<ClosedSession[]> {
    const { run_id, label, parent } = row;
    const now = this.#options.clock.now();
    await tx.subagents.archive(run_id, now);
    await tx.events.append({ type: "subagent.archived", session: parent, data: { run_id, label } }, now);
    return this.#close(tx, row);
  }

  async #write(tx: StoreTx, row: SubagentRow, { status, result, error }: SubagentEnding): Promise<void> {
    await tx.subagents.end(row.run_id, { status, result, error, at: this.#options.clock.now() });
  }

  async #record(
    tx: StoreTx,
    { run_id, session, label, parent }: SubagentRow,
    to: Pick<SubagentRow, "announced_to" | "announcement">,
  ): Promise<void> {
    const ended = await tx.subagents.get(run_id);
    if (ended === null || ended.status === "running" || ended.ended_at === null) return;
    const { status, result, error, ended_at } = ended;
    const receipt = (await receiptOf(tx, run_id))?.id ?? null;
    await tx.events.append(
      {
        type: "subagent.ended",
        session: parent,
        data: { run_id, session, label, status, result, error, ...to, receipt },
      },
      ended_at,
    );
  }

  async #close(tx: StoreTx, row: SubagentRow): Promise<ClosedSession[]> {
    const session = await tx.sessions.get(row.session);
    if (session === null || session.closed_at !== null) return [];
    return [await this.#options.sessions.closeIn(tx, row.session, `the subagent "${row.label}" has ended`, row.parent)];
  }

  /** The nearest open ancestor. If there is none, only the event reports the end. */
  async #tell(
    tx: StoreTx,
    row: SubagentRow,
    from: SessionId,
    ending: SubagentEnding,
  ): Promise<Pick<SubagentRow, "announced_to" | "announcement">> {
    const reader = await nearestOpen(tx, from);
    if (reader === null) return { announced_to: null, announcement: null };
    const message = await tellAsker(
      tx,
      {
        asker: reader,
        sender: { kind: "substrate" },
        body: announcement(row, ending, await receiptOf(tx, row.run_id)),
        cutNote: (bytes) => `${bytes} bytes in all; sessions_history ${row.run_id} has the end`,
        request: row,
      },
      this.#options,
    );
    return message === null
      ? { announced_to: null, announcement: null }
      : { announced_to: reader, announcement: message.id };
  }
}

async function nearestOpen(tx: StoreTx, from: SessionId): Promise<SessionId | null> {
  for (let next: SessionId | null = from; next !== null; ) {
    const session: Awaited<ReturnType<StoreTx["sessions"]["get"]>> = await tx.sessions.get(next);
    if (session === null || session.closed_at === null) return session?.id ?? null;
    next = session.parent;
  }
  return null;
}
