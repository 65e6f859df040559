/** Queues and tasks as clients see them. */
import { AegisError } from "../../contract/errors.ts";
import type { TaskId } from "../../contract/ids.ts";
import type { Attempt, QueueView, Task, TaskStatus, TaskView } from "../../contract/task.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Store } from "../../store/store.ts";
import type { QueueCatalog } from "./catalog.ts";
import { checkBudgets } from "./spending.ts";

export type TaskFilter = { queue?: string | undefined; status?: TaskStatus | undefined; limit: number };

const noTasks = { pending: 0, dispatched: 0, completed: 0, failed: 0, cancelled: 0 };

export class QueueViews {
  readonly #store: Store;
  readonly #catalog: QueueCatalog;
  readonly #clock: Clock;

  constructor(store: Store, catalog: QueueCatalog, clock: Clock) {
    this.#store = store;
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /** Also those that nothing declares any more but that still have unfinished tasks. */
  async queues(): Promise<QueueView[]> {
    const { read } = this.#store;
    const [names, counts] = await Promise.all([this.#catalog.names(read), read.tasks.counts()]);
    const unfinished = [...counts].filter(([, tasks]) => tasks.pending + tasks.dispatched > 0).map(([name]) => name);
    const all = [...new Set([...names, ...unfinished])].sort();
    return Promise.all(all.map((name) => this.queue(name)));
  }

  /** Throws `not_found` with the nearest name. */
  async queue(name: string): Promise<QueueView> {
    const { read } = this.#store;
    const found = await this.#catalog.find(read, name);
    const tasks = (await read.tasks.counts()).get(name) ?? noTasks;
    if (!found) {
      if (tasks.pending + tasks.dispatched === 0) await this.#catalog.get(read, name);
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
    return Promise.all(tasks.map((task) => this.view(task)));
  }

  async task(id: TaskId): Promise<{ task: TaskView; attempts: Attempt[] }> {
    const { tasks } = this.#store.read;
    const task = await tasks.get(id);
    if (!task) throw unknownTask(id);
    return { task: await this.view(task), attempts: await tasks.attempts(id) };
  }

  async view(task: Task): Promise<TaskView> {
    return { ...task, queued_position: await this.#store.read.tasks.position(task.id) };
  }
}

export function unknownTask(id: TaskId): AegisError {
  return new AegisError("not_found", `no task ${id}`, { hint: "`aegis task list` shows them" });
}
