/** All queues: those of the configuration, which a reload may change, and those added at run time. */
import { AegisError } from "../../contract/errors.ts";
import { mergeQueueName } from "../../contract/landing.ts";
import type { QueueSettings } from "../../contract/task.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { QueueReads } from "../../store/store.ts";

export type Queue = { name: string; source: "config" | "added"; settings: QueueSettings; paused: boolean };

/** Works on committed data and inside a transaction. */
type From = { readonly queues: QueueReads };

export class QueueDefinitions {
  readonly #declared: () => Readonly<Record<string, QueueSettings>>;

  constructor(declared: () => Readonly<Record<string, QueueSettings>>) {
    this.#declared = declared;
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
      throw new AegisError("invalid", `"${name}" is the queue of landings: it takes no tasks`, {
        hint: "land the work of a session with: aegis land <session>",
      });
    const names = await this.names(from);
    throw new AegisError("not_found", `no queue "${name}"${didYouMean(name, names)}`, {
      hint:
        names.length === 0 ? "there are no queues; add one with: aegis queue add" : `queues here: ${names.join(", ")}`,
    });
  }

  async names(from: From): Promise<string[]> {
    const added = (await from.queues.list()).filter((row) => row.settings !== null).map((row) => row.name);
    return [...new Set([...Object.keys(this.#declared()), ...added])];
  }

  declared(name: string): QueueSettings | null {
    const declared = this.#declared();
    return Object.hasOwn(declared, name) ? (declared[name] ?? null) : null;
  }
}
