/** Views of queues and tasks for clients. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { TaskId } from "@aegis/contract/ids.ts";
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import type { Attempt, QueueView, Task, TaskStatus, TaskView } from "@aegis/contract/task.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { titleFrom } from "@aegis/lib/title.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import type { Store } from "@aegis/store/store.ts";
import type { CheckConsent } from "@aegis/worktrees/checks/consent.ts";
import type { ReceiptViews } from "@aegis/worktrees/checks/views.ts";
import { checkBudgets } from "./budgets.ts";
import { findCheck } from "./check.ts";
import type { QueueDefinitions } from "./definitions.ts";
import { missingLabels } from "./node-room.ts";
import { type RightsOptions, roomFor, workerLabels } from "./rights.ts";

export type TaskFilter = { queue?: string | undefined; status?: TaskStatus | undefined; limit: number };

const noTasks = { pending: 0, dispatched: 0, completed: 0, failed: 0, cancelled: 0 };

export type QueueViewsOptions = RightsOptions & {
  store: Store;
  definitions: QueueDefinitions;
  clock: Clock;
  receipts: ReceiptViews;
  checkConsent: CheckConsent;
};

export class QueueViews {
  readonly #options: QueueViewsOptions;
  readonly #store: Store;
  readonly #definitions: QueueDefinitions;
  readonly #clock: Clock;

  constructor(options: QueueViewsOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#definitions = options.definitions;
    this.#clock = options.clock;
  }

  /** Includes queues that are no longer declared but have unfinished tasks. */
  async queues(): Promise<QueueView[]> {
    const { read } = this.#store;
    const [names, counts] = await Promise.all([this.#definitions.names(read), read.tasks.counts()]);
    const unfinished = [...counts].filter(([, tasks]) => tasks.pending + tasks.dispatched > 0).map(([name]) => name);
    const all = [...new Set([...names, ...unfinished])].sort();
    return Promise.all(all.map((name) => this.queue(name)));
  }

  /** Throws `not_found` with the nearest name. */
  async queue(name: string): Promise<QueueView> {
    const { read } = this.#store;
    const found = await this.#definitions.find(read, name);
    const tasks = (await read.tasks.counts()).get(name) ?? noTasks;
    if (!found) {
      if (tasks.pending + tasks.dispatched === 0) await this.#definitions.get(read, name);
      const paused = (await read.queues.get(name))?.paused ?? false;
      const gone = { settings: null, budgets: [], blocked_by: [], unblock_at: null };
      return { name, source: "missing", paused, tasks, ...gone };
    }
    const { source, settings, paused } = found;
    const budgets = await checkBudgets(read, name, settings.budgets, this.#clock.now());
    const blocked_by = budgets.filter((check) => !check.allowed);
    const times = blocked_by.flatMap((check) => check.unblock_at ?? []);
    const unblock_at = times.length === 0 ? null : Math.max(...times);
    return { name, source, settings, paused, tasks, budgets, blocked_by, unblock_at };
  }

  async tasks(filter: TaskFilter): Promise<TaskView[]> {
    const tasks = await this.#store.read.tasks.list(filter);
    const receipts = await this.#options.receipts.newest(tasks.map(({ id }) => id));
    return Promise.all(tasks.map((task) => this.#view(task, receipts.get(task.id) ?? null)));
  }

  async task(id: TaskId): Promise<{ task: TaskView; attempts: Attempt[] }> {
    const { tasks } = this.#store.read;
    const task = await tasks.get(id);
    if (!task) throw unknownTask(id);
    return { task: await this.view(task), attempts: await tasks.attempts(id) };
  }

  async view(task: Task): Promise<TaskView> {
    const receipts = await this.#options.receipts.newest([task.id]);
    return this.#view(task, receipts.get(task.id) ?? null);
  }

  async #missingNode({ queue, status }: Task): Promise<string | null> {
    const node = nodeOf(this.#store);
    if (node === null || status !== "pending") return null;
    const found = await this.#definitions.find(this.#store.read, queue);
    const labels = found === null ? [] : workerLabels(found.settings, this.#options.agents);
    return missingLabels(this.#store.read, node, labels);
  }

  async #nodeOf({ worker }: Task): Promise<{ node?: string }> {
    if (this.#store.membership === undefined || worker === null) return {};
    const node = (await this.#store.read.sessions.get(worker))?.node;
    return node === undefined ? {} : { node };
  }

  async #view(task: Task, receipt: ReceiptView | null): Promise<TaskView> {
    const { read } = this.#store;
    const room =
      task.status === "pending" ? await roomFor(read, task, { ...this.#options, now: this.#clock.now() }) : "yes";
    const waits_for = room !== "yes" && "wait" in room ? room.wait : await this.#missingNode(task);
    const found = await findCheck(read, this.#definitions, task, this.#options.checkConsent);
    const verified = task.status === "completed" && receipt?.state === "passed" && receipt.session === task.worker;
    return {
      ...task,
      title: titleFrom(task.payload),
      queued_position: await read.tasks.position(task.id),
      waits_for,
      check: found?.check.command ?? null,
      receipt,
      verified,
      ...(await this.#nodeOf(task)),
    };
  }
}

export function unknownTask(id: TaskId): AegisError {
  return new AegisError("not_found", `no task ${id}`, { hint: "`aegis task list` shows them" });
}
