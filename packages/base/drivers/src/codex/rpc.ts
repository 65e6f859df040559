/** JSON-RPC over the pipes of one process, in both directions. Codex omits the `jsonrpc` field. */
import type { Child } from "@aegis/lib/process.ts";
import { Channel, type ChannelProcess } from "../cli-harness/channel.ts";
import { isObject, type JsonFields, numberAt, objectAt, textAt } from "../cli-harness/fields.ts";

export type RequestId = string | number;

export type RpcHandlers = {
  notification(method: string, params: JsonFields): void;
  /** A request from the server. Answer with `respond` or `refuse`. */
  request(id: RequestId, method: string, params: JsonFields): void;
  noise(line: string): void;
  room(): Promise<void> | null;
};

export class RpcError extends Error {
  override readonly name = "RpcError";
  /** Null if the process ended before it answered. */
  readonly code: number | null;

  constructor(code: number | null, message: string) {
    super(message);
    this.code = code;
  }
}

export class Rpc {
  readonly #channel: Channel<RequestId>;
  #lastId = 0;

  constructor(child: Child, handlers: RpcHandlers) {
    this.#channel = new Channel(
      child,
      {
        message: (message) => this.#dispatch(message, handlers),
        noise: (line) => handlers.noise(line),
        room: () => handlers.room(),
      },
      () => new RpcError(null, "Codex ended"),
    );
  }

  get process(): ChannelProcess {
    return this.#channel;
  }

  /** Rejects with `RpcError` when the server refuses or ends. */
  call(method: string, params: JsonFields): Promise<JsonFields> {
    this.#lastId += 1;
    return this.#channel.request(this.#lastId, { method, id: this.#lastId, params });
  }

  notify(method: string): void {
    this.#channel.write({ method });
  }

  respond(id: RequestId, result: JsonFields): void {
    this.#channel.write({ id, result });
  }

  refuse(id: RequestId, message: string): void {
    this.#channel.write({ id, error: { code: -32601, message } });
  }

  #dispatch(message: JsonFields, handlers: RpcHandlers): void {
    const method = textAt(message, "method");
    const id = typeof message.id === "string" || typeof message.id === "number" ? message.id : null;
    if (method !== null && id !== null) handlers.request(id, method, objectAt(message, "params"));
    else if (method !== null) handlers.notification(method, objectAt(message, "params"));
    else if (id !== null) this.#settle(id, message);
    else handlers.noise(JSON.stringify(message));
  }

  #settle(id: RequestId, { error, ...message }: JsonFields): void {
    const refusal = () => new RpcError(numberAt(error, "code"), textAt(error, "message") ?? "refused");
    this.#channel.settle(id, isObject(error) ? refusal() : objectAt(message, "result"));
  }
}
