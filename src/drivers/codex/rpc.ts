/** JSON-RPC over the pipes of one process, both ways. Codex leaves out the `jsonrpc` field. */
import type { Child } from "../../lib/process.ts";
import { isObject, type Json, numberAt, objectAt, textAt } from "../cli-harness/fields.ts";
import { JsonProcess, type ProcessEnd } from "../cli-harness/json-process.ts";

export type RequestId = string | number;

export type RpcHandlers = {
  notification(method: string, params: Json): void;
  /** Something the server asks. Answer with `respond` or `refuse`. */
  request(id: RequestId, method: string, params: Json): void;
  noise(line: string): void;
};

export class RpcError extends Error {
  override readonly name = "RpcError";
  /** Null when the process ended before it answered. */
  readonly code: number | null;

  constructor(code: number | null, message: string) {
    super(message);
    this.code = code;
  }
}

export class Rpc {
  readonly child: Child;
  readonly ended: Promise<ProcessEnd>;
  readonly #process: JsonProcess;
  readonly #pending = new Map<RequestId, PromiseWithResolvers<Json>>();
  #lastId = 0;
  #firstNoise: string | null = null;

  constructor(child: Child, handlers: RpcHandlers) {
    this.child = child;
    this.#process = new JsonProcess(child, {
      message: (message) => this.#dispatch(message, handlers),
      noise: (line) => {
        this.#firstNoise ??= line;
        handlers.noise(line);
      },
    });
    this.ended = this.#process.ended.then((end) => {
      for (const waiting of this.#pending.values()) waiting.reject(new RpcError(null, "Codex ended"));
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

  /** Rejects with `RpcError` when the server refuses or ends. */
  call(method: string, params: Json): Promise<Json> {
    this.#lastId += 1;
    const waiting = Promise.withResolvers<Json>();
    if (this.alive) this.#pending.set(this.#lastId, waiting);
    else waiting.reject(new RpcError(null, "Codex ended"));
    this.#process.write({ method, id: this.#lastId, params });
    return waiting.promise;
  }

  notify(method: string): void {
    this.#process.write({ method });
  }

  respond(id: RequestId, result: Json): void {
    this.#process.write({ id, result });
  }

  refuse(id: RequestId, message: string): void {
    this.#process.write({ id, error: { code: -32601, message } });
  }

  #dispatch(message: Json, handlers: RpcHandlers): void {
    const method = textAt(message, "method");
    const id = typeof message.id === "string" || typeof message.id === "number" ? message.id : null;
    if (method !== null && id !== null) handlers.request(id, method, objectAt(message, "params"));
    else if (method !== null) handlers.notification(method, objectAt(message, "params"));
    else if (id !== null) this.#settle(id, message);
    else handlers.noise(JSON.stringify(message));
  }

  #settle(id: RequestId, message: Json): void {
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (!isObject(message.error)) waiting?.resolve(objectAt(message, "result"));
    else waiting?.reject(new RpcError(numberAt(message.error, "code"), textAt(message.error, "message") ?? "refused"));
  }
}
