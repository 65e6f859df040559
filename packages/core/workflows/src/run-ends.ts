/** Handles the end of a run: takes back what it waits for, notifies its host session and closes its sessions. */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { RunId, SessionId } from "@aegis/contract/ids.ts";
import type { Run } from "@aegis/contract/run.ts";
import type { Groups } from "@aegis/delegation/groups/groups.ts";
import type { Queues } from "@aegis/delegation/queues/queues.ts";
import { tellAsker } from "@aegis/delegation/work/tell-asker.ts";
import type { OpenStep, RunHooks } from "@aegis/engine/engine.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import { receiptLines, receiptsOf } from "./run-receipts.ts";
import { groupsOf, waitsFor } from "./run-sessions.ts";

export type RunEndsOptions = {
  store: Store;
  log: Logger;
  inbox: Inbox;
  asks: Asks;
  queues: Queues;
  sessions: Sessions;
  groups: Groups;
  maxHops: () => number;
};

/** The number of recent runs checked after a restart for sessions that they should have closed. */
const recentRuns = 200;

export class RunEnds implements RunHooks {
  readonly #options: RunEndsOptions;

  constructor(options: RunEndsOptions) {
    this.#options = options;
  }

  async onGivenUp(tx: StoreTx, _run: unknown, steps: readonly OpenStep[], why: string): Promise<void> {
    const { asks, queues, inbox } = this.#options;
    for (const step of steps) {
      const { ask, task, message } = waitsFor(step);
      if (ask !== undefined) await asks.withdrawIn(tx, ask, why);
      // Its producer is the run, which gets no message.
      if (task !== undefined) await queues.cancelIn(tx, task);
      if (message !== undefined) await inbox.cancelIn(tx, message);
    }
  }

  async onEnd(tx: StoreTx, run: Run): Promise<"none" | "delivered" | "dropped"> {
    if (!run.callback || run.host === null) return "none";
    const message = await tellAsker(
      tx,
      {
        id: derivedId("msg", `${run.id}/${run.retries}/end`),
        asker: run.host,
        sender: { kind: "workflow", name: run.workflow, run: run.id, status: run.status === "ok" ? "ok" : "error" },
        body: callbackBody(run, receiptLines(await receiptsOf(tx, run.id), run.id)),
        cutNote: (bytes) => `the whole result is ${bytes} bytes long; see aegis workflow status`,
        request: run,
      },
      this.#options,
    );
    return message === null ? "dropped" : "delivered";
  }

  async afterEnd(run: Run): Promise<void> {
    const { store, sessions, log } = this.#options;
    if (run.callback && run.host !== null) sessions.wake(run.host);
    try {
      const own = await store.read.steps.sessions(run.id, { unshared: true });
      for (const session of own) await this.#close(session, run);
      await this.#closePlace(run);
      await this.#dissolveGroups(run, own);
    } catch (error) {
      log.warn("the sessions of a run could not be closed", { run: run.id, error: errorText(error) });
    }
  }

  /** Closes the sessions of runs that ended directly before a stop, and takes back what version 0.2 left of such runs. */
  async recover(): Promise<void> {
    const { store } = this.#options;
    const recent = await store.read.runs.list({ limit: recentRuns });
    for (const run of recent.filter(({ ended_at }) => ended_at !== null)) {
      const open = await store.read.steps.list(run.id, { status: "begun" });
      if (open.length > 0) await store.transact((tx) => this.onGivenUp(tx, run, open, "the run has ended"));
      await this.#closePlace(run);
      await this.#dissolveGroups(run, await store.read.steps.sessions(run.id, { unshared: true }));
    }
    for (const session of await store.read.steps.straySessions()) await this.#close(session, null);
  }

  async #closePlace(run: Run): Promise<void> {
    const place = placeOfRun(run.id);
    if (run.starter?.session === place) await this.#close(place, run);
  }

  async #close(session: SessionId, run: Run | null): Promise<void> {
    const { sessions, log } = this.#options;
    const reason = run === null ? "its workflow has ended" : `workflow ${run.workflow} has ended`;
    await sessions.close(session, reason).catch((error: unknown) => {
      if (isAegisError(error) && (error.code === "closed" || error.code === "not_found")) return;
      log.warn("a session of a run could not be closed", { session, error: errorText(error) });
    });
  }

  /** The first member holds a group: if it is not in `own`, another run still uses the group. */
  async #dissolveGroups(run: Run, own: readonly SessionId[]): Promise<void> {
    const { store, groups } = this.#options;
    for (const { group, members } of await groupsOf(store.read, run.id)) {
      if (!members.some(({ session }) => own.includes(session))) continue;
      for (const { session } of members) await this.#close(session, run);
      const left = await groups.view(group).catch(() => null);
      if (left?.members.every((member) => member.state === "closed")) await groups.dissolve(group).catch(() => {});
    }
  }
}

/**
 * The session that stands for a program which started a run: it determines the rights of the run, and its asks belong to
 * it.
 */
export function placeOfRun(run: RunId): SessionId {
  return derivedId("ses", `${run}/starter`);
}

/** The receipts come first: agents write the rest. */
function callbackBody(run: Run, receipts: readonly string[]): string {
  return [...receipts, ...(receipts.length === 0 ? [] : [""]), callbackText(run)].join("\n");
}

function callbackText(run: Run): string {
  if (run.status === "ok") return resultText(run.result);
  const what = run.status === "cancelled" ? "cancelled" : (run.error?.name ?? "error");
  return `${what}: ${run.error?.message ?? "no reason was given"}`;
}

/** Returns text unchanged and anything else as JSON. */
function resultText(result: unknown): string {
  if (typeof result === "string") return result.trim() === "" ? "finished without a result" : result;
  return result === null || result === undefined ? "finished without a result" : JSON.stringify(result);
}
