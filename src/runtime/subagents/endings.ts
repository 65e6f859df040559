/**
 * Ends subagents. Status, what ends with it and the announcement are one transaction, so that every end is told exactly
 * once, whatever stops in between.
 */
import type { SessionId } from "../../contract/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import type { StoreTx, SubagentRow } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Closed } from "../sessions/close.ts";
import { lastWords } from "../sessions/last-words.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { announcement, type Ending } from "./words.ts";

export type EndingsOptions = { clock: Clock; inbox: Inbox; sessions: Sessions; maxHops: () => number };

/** Wake `told` and have `closed` leave after the commit. `rows` are all that ended, the one that was meant first. */
export type Ended = { rows: SubagentRow[]; closed: Closed[]; told: SessionId | null };

export class Endings {
  readonly #options: EndingsOptions;

  constructor(options: EndingsOptions) {
    this.#options = options;
  }

  /**
   * Null when it has ended before. Whoever is still at work below it ends with it. `answered` is a session that learns
   * of the end as the answer to its own call.
   */
  async end(tx: StoreTx, runId: string, ending: Ending, answered: SessionId | null = null): Promise<Ended | null> {
    const row = await tx.subagents.get(runId);
    if (row?.status !== "running") return null;
    const closed: Closed[] = [];
    const below = (await tx.subagents.below(row.session)).filter((one) => one.status === "running");
    // From the leaves up, so that nobody is told of the end of somebody below it.
    for (const one of below.reverse()) {
      const result = await lastWords(tx, one.session);
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

  /** Tells of an end again whose announcement nobody read. Gives the session to wake. */
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

  /** Takes an ended one off the list, and closes it if it is still open. */
  async archive(tx: StoreTx, row: SubagentRow): Promise<Closed[]> {
    const { run_id, label, parent } = row;
    const now = this.#options.clock.now();
    await tx.subagents.archive(run_id, now);
    await tx.events.append({ type: "subagent.archived", session: parent, data: { run_id, label } }, now);
    return this.#close(tx, row);
  }

  async #write(tx: StoreTx, row: SubagentRow, { status, result, error }: Ending): Promise<void> {
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
    await tx.events.append(
      { type: "subagent.ended", session: parent, data: { run_id, session, label, status, result, error, ...to } },
      ended_at,
    );
  }

  async #close(tx: StoreTx, row: SubagentRow): Promise<Closed[]> {
    const session = await tx.sessions.get(row.session);
    if (session === null || session.closed_at !== null) return [];
    return [await this.#options.sessions.closeIn(tx, row.session, `the subagent "${row.label}" has ended`, row.parent)];
  }

  /** To the nearest session upwards that is open; with none left, a person sees the event. */
  async #tell(
    tx: StoreTx,
    row: SubagentRow,
    from: SessionId,
    ending: Ending,
  ): Promise<Pick<SubagentRow, "announced_to" | "announcement">> {
    const reader = await nearestOpen(tx, from);
    if (reader === null) return { announced_to: null, announcement: null };
    const { chain, hops } = row;
    const { message } = await this.#options.inbox.admitIn(tx, {
      session: reader,
      sender: { kind: "substrate" },
      body: announcement(row, ending),
      // The answer to what was accepted is never refused for the length of its chain.
      cause: chain === null ? undefined : { chain, hops: Math.min(hops + 1, this.#options.maxHops() - 1) },
    });
    return { announced_to: reader, announcement: message.id };
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
