/** All queues: those of the configuration, which a reload may change, and those added at run time, which are durable. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { unknownName } from "@aegis/agents/unknown-name.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { TaskId } from "@aegis/contract/ids.ts";
import { mergeQueueName } from "@aegis/contract/landing.ts";
import type { QueueSettings } from "@aegis/contract/task.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { QueueReads, Store, StoreTx } from "@aegis/store/store.ts";

export type Queue = { name: string; source: "config" | "added"; settings: QueueSettings; paused: boolean };

/** Works on committed data and inside a transaction. */
type From = { readonly queues: QueueReads };

export type DefinitionsOptions = {
  store: Store;
  clock: Clock;
  agents: AgentTable;
  /** The queues of the current configuration. */
  declared: () => Readonly<Record<string, QueueSettings>>;
};

export class QueueDefinitions {
  readonly #options: DefinitionsOptions;

  constructor(options: DefinitionsOptions) {
    this.#options = options;
  }

  /** The configuration takes precedence over an added queue of the same name. */
  async find(from: From, name: string): Promise<Queue | null> {
    const row = await from.queues.get(name);
    const declared = this.declared(name);
    if (declared) return { name, source: "config", settings: declared, paused: row?.paused ?? false };
    return row?.settings ? { name, source: "added", settings: row.settings, paused: row.paused } : null;
  }

  /** Throws `not_found` with the nearest name and the list of queues. */
  async get(from: From, name: string): Promise<Queue> {
    const queue = await this.find(from, name);
    if (queue) return queue;
    if (name === mergeQueueName)
      throw new AegisError("invalid", `"${name}" is the queue of landings: it accepts no tasks`, {
        hint: "land the work of a session with: aegis land <session>",
      });
    throw unknownName("queue", name, await this.names(from), "there are no queues; add one with: aegis queue add");
  }

  async names(from: From): Promise<string[]> {
    const added = (await from.queues.list()).filter((row) => row.settings !== null).map((row) => row.name);
    return [...new Set([...Object.keys(this.#options.declared()), ...added])];
  }

  declared(name: string): QueueSettings | null {
    const declared = this.#options.declared();
    return Object.hasOwn(declared, name) ? (declared[name] ?? null) : null;
  }

  /** Throws `conflict` if a queue of that name exists. */
  async add(name: string, settings: QueueSettings): Promise<void> {
    const { store, agents } = this.#options;
    agents.get(settings.agent);
    for (const producer of settings.producers ?? []) agents.get(producer);
    if (settings.rights === "own" && (settings.producers ?? []).length === 0) {
      throw new AegisError("invalid", `queue "${name}" with rights: own names no producers`, {
        hint: "name the agents that may use it; others could otherwise do through it what they may not do themselves",
      });
    }
    await store.transact(async (tx) => {
      if (await this.find(tx, name)) throw new AegisError("conflict", `there is a queue "${name}" already`);
      const paused = (await tx.queues.get(name))?.paused ?? false;
      await tx.queues.put({ name, settings, paused });
      await this.#append(tx, { type: "queue.added", session: null, data: { queue: name, settings } });
    });
  }

  /** Returns the tasks that lose their queue. Throws `conflict` if there are any and they may not be cancelled. */
  async remove(name: string, options: { force: boolean }): Promise<TaskId[]> {
    return this.#options.store.transact(async (tx) => {
      const { source } = await this.get(tx, name);
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
    await this.#options.store.transact(async (tx) => {
      const queue = await this.get(tx, name);
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
