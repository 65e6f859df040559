/**
 * Starts the work of a firing: a run, a task or a session. Its id is derived from the firing's id, so that a repeated
 * start after a crash is idempotent, and the store knows its outcome.
 */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { type AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { RunId, SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Firing, ScheduleAction } from "@aegis/contract/schedule.ts";
import type { Queues } from "@aegis/delegation/queues/queues.ts";
import { workerFailures } from "@aegis/delegation/work/failure-texts.ts";
import { judge, type StillWaiting } from "@aegis/delegation/work/judge.ts";
import type { ClosedSession } from "@aegis/sessions/close.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import type { Workflows } from "@aegis/workflows/workflows.ts";

export type EffectsOptions = {
  store: Store;
  agents: AgentTable;
  sessions: Sessions;
  inbox: Inbox;
  queues: Queues;
  workflows: Workflows;
  /** What a session may still wait for after its turn has ended. */
  waiting: readonly StillWaiting[];
};

export type FiringOutcome = {
  status: "ok" | "error";
  result: string | null;
  error: string | null;
  /** Part of the transaction that writes the end. Null if the work has not ended after all. */
  settle?: (tx: StoreTx) => Promise<{ closed: ClosedSession | null } | null>;
};

export class Effects {
  readonly #options: EffectsOptions;

  constructor(options: EffectsOptions) {
    this.#options = options;
  }

  /** The id of the work that the firing starts or has started. */
  idOf({ id, action }: Pick<Firing, "id" | "action">): string {
    return derivedId(({ workflow: "run", queue: "tsk", agent: "ses" } as const)[action.kind], id);
  }

  /** Throws with the reason if the action cannot run now. */
  async check(action: ScheduleAction): Promise<void> {
    const { workflows, queues, agents } = this.#options;
    if (action.kind === "workflow") workflows.check(action.workflow, action.args);
    else if (action.kind === "queue") await queues.queue(action.queue);
    else agents.get(action.agent);
  }

  async problem(action: ScheduleAction): Promise<string | null> {
    try {
      await this.check(action);
      return null;
    } catch (error) {
      if (isAegisError(error)) return error.message;
      throw error;
    }
  }

  /** Starts the work. Idempotent. Throws `AegisError` if it cannot start. */
  async start(firing: Firing): Promise<string> {
    const { workflows, queues, store } = this.#options;
    const { action, schedule } = firing;
    const id = this.idOf(firing);
    if (action.kind === "workflow") {
      if ((await store.read.runs.get(id as RunId)) === null)
        await workflows.start({ workflow: action.workflow, args: action.args, id: id as RunId });
    } else if (action.kind === "queue") {
      const { queue, payload } = action;
      if ((await store.read.tasks.get(id as TaskId)) === null)
        await queues.enqueue({ queue, payload, id: id as TaskId, producer: null, callback: false });
    } else await this.#startSession(schedule, action, id as SessionId);
    return id;
  }

  /** Null while the work is running. */
  async look(firing: Firing): Promise<FiringOutcome | null> {
    const { read } = this.#options.store;
    const id = this.idOf(firing);
    if (firing.action.kind === "workflow") {
      const run = await read.runs.get(id as RunId);
      if (!run || run.ended_at === null) return null;
      if (run.status === "ok") return { status: "ok", result: asText(run.result), error: null };
      return { status: "error", result: null, error: run.error?.message ?? `the run was ${run.status}` };
    }
    if (firing.action.kind === "queue") {
      const task = await read.tasks.get(id as TaskId);
      if (!task || task.ended_at === null) return null;
      if (task.status === "completed") return { status: "ok", result: task.result, error: null };
      return { status: "error", result: task.result, error: task.error ?? `the task was ${task.status}` };
    }
    return this.#lookAtSession(id as SessionId);
  }

  /** Requests the end of the work, which may have ended already or never have started. */
  async stop(firing: Firing, reason: string): Promise<void> {
    const { workflows, queues, sessions } = this.#options;
    const id = this.idOf(firing);
    try {
      if (firing.action.kind === "workflow") await workflows.cancel(id, reason);
      else if (firing.action.kind === "queue") await queues.cancel(id as TaskId);
      else await sessions.close(id as SessionId, reason);
    } catch (error) {
      if (!isOver(error)) throw error;
    }
  }

  /** Ends what a finished session still does. */
  async leave(closed: ClosedSession | null): Promise<void> {
    if (closed !== null) await this.#options.sessions.leave(closed);
  }

  async #startSession(
    name: string,
    { agent, prompt }: ScheduleAction & { kind: "agent" },
    id: SessionId,
  ): Promise<void> {
    const { store, sessions, inbox } = this.#options;
    await store.transact(async (tx) => {
      if ((await tx.sessions.get(id)) !== null) return;
      await sessions.createIn(tx, { id, agent });
      await inbox.admitIn(tx, {
        id: derivedId("msg", id),
        session: id,
        sender: { kind: "schedule", name },
        body: prompt,
      });
    });
    sessions.wake(id);
  }

  async #lookAtSession(id: SessionId): Promise<FiringOutcome | null> {
    const { store, sessions, waiting } = this.#options;
    const verdict = await judge(store.read, id, waiting, workerFailures);
    if (verdict.kind !== "ended") return null;
    const { turn, error, stillTrue } = verdict;
    return {
      status: error === null ? "ok" : "error",
      result: error === null && turn !== null ? turn.text : await sessions.lastText(store.read, id),
      error,
      async settle(tx) {
        if (!(await stillTrue(tx))) return null;
        const row = await tx.sessions.get(id);
        const isOpen = row !== null && row.closed_at === null;
        return { closed: isOpen ? await sessions.closeIn(tx, id, "its schedule's firing is over") : null };
      },
    };
  }
}

function isOver(error: unknown): error is AegisError {
  return isAegisError(error) && (error.code === "closed" || error.code === "not_found" || error.code === "conflict");
}

function asText(result: unknown): string | null {
  if (result === null || result === undefined) return null;
  return typeof result === "string" ? result : JSON.stringify(result);
}
