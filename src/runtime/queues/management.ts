/** Adds, removes, pauses and resumes queues. All changes are durable. */
import { AegisError } from "../../contract/errors.ts";
import type { TaskId } from "../../contract/ids.ts";
import type { QueueSettings } from "../../contract/task.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Store, StoreTx } from "../../store/store.ts";
import type { AgentTable } from "../tables/agents.ts";
import type { QueueDefinitions } from "./definitions.ts";

export type ManagementOptions = { store: Store; clock: Clock; agents: AgentTable; definitions: QueueDefinitions };

export class QueueManagement {
  readonly #options: ManagementOptions;

  constructor(options: ManagementOptions) {
    this.#options = options;
  }

  /** Throws `conflict` if a queue of that name exists. */
  async add(name: string, settings: QueueSettings): Promise<void> {
    const { store, agents, definitions } = this.#options;
    agents.get(settings.agent);
    for (const producer of settings.producers ?? []) agents.get(producer);
    if (settings.rights === "own" && (settings.producers ?? []).length === 0) {
      throw new AegisError("invalid", `queue "${name}" with rights: own names no producers`, {
        hint: "name the agents that may use it; others could otherwise do through it what they may not do themselves",
      });
    }
    await store.transact(async (tx) => {
      if (await definitions.find(tx, name)) throw new AegisError("conflict", `there is a queue "${name}" already`);
      const paused = (await tx.queues.get(name))?.paused ?? false;
      await tx.queues.put({ name, settings, paused });
      await this.#append(tx, { type: "queue.added", session: null, data: { queue: name, settings } });
    });
  }

  /** Returns the tasks that lose their queue. Throws `conflict` if there are any and they may not be cancelled. */
  async remove(name: string, options: { force: boolean }): Promise<TaskId[]> {
    const { store, definitions } = this.#options;
    return store.transact(async (tx) => {
      const { source } = await definitions.get(tx, name);
      if (source === "config") {
        throw new AegisError("conflict", `queue "${name}" is declared in the project's files`, {
          hint: `remove it there: aegis config queue remove ${name}`,
        });
      }
      const tasks = [
        ...(await tx.tasks.list({ queue: name, status: "pending" })),
        ...(await tx.tasks.list({ queue: name, status: "dispatched" })),
      ];
      if (tasks.length > 0 && !options.force) {
        throw new AegisError("conflict", `queue "${name}" still has unfinished tasks: ${tasks.length}`, {
          hint: `wait for them with: aegis queue drain ${name}, or cancel them with --force`,
        });
      }
      await tx.queues.remove(name);
      await this.#append(tx, { type: "queue.removed", session: null, data: { queue: name } });
      return tasks.map((task) => task.id);
    });
  }

  async setPaused(name: string, paused: boolean): Promise<void> {
    const { store, definitions } = this.#options;
    await store.transact(async (tx) => {
      const queue = await definitions.get(tx, name);
      if (queue.paused === paused) return;
      await tx.queues.put({ name, settings: (await tx.queues.get(name))?.settings ?? null, paused });
      const type = paused ? "queue.paused" : "queue.resumed";
      await this.#append(tx, { type, session: null, data: { queue: name } });
    });
  }

  async #append(tx: StoreTx, event: Parameters<StoreTx["events"]["append"]>[0]): Promise<void> {
    await tx.events.append(event, this.#options.clock.now());
  }
}
