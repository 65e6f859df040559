/** Requests and responses over the pipes of one process, in both directions. The driver defines their format. */
import type { Child } from "@aegis/lib/process.ts";
import type { JsonFields } from "./fields.ts";
import { JsonProcess, type JsonProcessHandlers, type ProcessEnd } from "./json-process.ts";

/** The process behind a channel, for code that starts it or waits for its end. */
export type ChannelProcess = Pick<Channel<unknown>, "child" | "ended" | "alive" | "firstNoise">;

export class Channel<Id> {
  readonly child: Child;
  readonly ended: Promise<ProcessEnd>;
  readonly #process: JsonProcess;
  readonly #pending = new Map<Id, PromiseWithResolvers<JsonFields>>();
  readonly #gone: () => Error;
  #firstNoise: string | null = null;

  /** `gone` creates the error for requests that are open when the process ends. */
  constructor(child: Child, handlers: JsonProcessHandlers, gone: () => Error) {
    this.child = child;
    this.#gone = gone;
    this.#process = new JsonProcess(child, {
      message: (value) => handlers.message(value),
      room: () => handlers.room?.() ?? null,
      noise: (line) => {
        this.#firstNoise ??= line;
        handlers.noise(line);
      },
    });
    this.ended = this.#process.ended.then((end) => {
      for (const waiting of this.#pending.values()) waiting.reject(gone());
      this.#pending.clear();
      return end;
    });
  }

  get alive(): boolean {
    return this.#process.alive;
  }

  /** The first line that was not JSON. */
  get firstNoise(): string | null {
    return this.#firstNoise;
  }

  write(message: JsonFields): void {
    this.#process.write(message);
  }

  /** Writes a request and waits until `settle` receives its answer. */
  request(id: Id, message: JsonFields): Promise<JsonFields> {
    const waiting = Promise.withResolvers<JsonFields>();
    if (this.alive) this.#pending.set(id, waiting);
    else waiting.reject(this.#gone());
    this.write(message);
    return waiting.promise;
  }

  /** Ignores an answer without a request. */
  settle(id: Id, answer: JsonFields | Error): void {
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (answer instanceof Error) waiting?.reject(answer);
    else waiting?.resolve(answer);
  }
}
