/** The control protocol of one Claude Code process: requests and answers in both directions on the message pipes. */
import { randomUUID } from "node:crypto";
import type { Child } from "../../lib/process.ts";
import { type Json, objectAt, textAt } from "../cli-harness/fields.ts";
import { JsonProcess, type ProcessEnd } from "../cli-harness/json-process.ts";

export type LinkHandlers = {
  message(message: Json): void;
  /** Something the CLI asks. Answer with `respond` or `refuse`. */
  request(id: string, request: Json): void;
  /** The CLI no longer waits for the answer. */
  withdrawn(id: string): void;
  noise(line: string): void;
};

export class ControlError extends Error {
  override readonly name = "ControlError";
}

export class ClaudeLink {
  readonly child: Child;
  readonly ended: Promise<ProcessEnd>;
  readonly #process: JsonProcess;
  readonly #pending = new Map<string, PromiseWithResolvers<Json>>();
  #firstNoise: string | null = null;

  constructor(child: Child, handlers: LinkHandlers) {
    this.child = child;
    this.#process = new JsonProcess(child, {
      message: (message) => this.#dispatch(message, handlers),
      noise: (line) => {
        this.#firstNoise ??= line;
        handlers.noise(line);
      },
    });
    this.ended = this.#process.ended.then((end) => {
      for (const waiting of this.#pending.values()) waiting.reject(new ControlError("Claude Code ended"));
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

  /** Rejects with `ControlError` when the CLI refuses or ends. */
  control(request: Json): Promise<Json> {
    const id = randomUUID();
    const waiting = Promise.withResolvers<Json>();
    if (!this.alive) waiting.reject(new ControlError("Claude Code ended"));
    else this.#pending.set(id, waiting);
    this.#process.write({ type: "control_request", request_id: id, request });
    return waiting.promise;
  }

  respond(id: string, response: Json): void {
    this.#process.write({ type: "control_response", response: { subtype: "success", request_id: id, response } });
  }

  refuse(id: string, error: string): void {
    this.#process.write({ type: "control_response", response: { subtype: "error", request_id: id, error } });
  }

  prompt(text: string, uuid: string): void {
    const message = { role: "user", content: [{ type: "text", text }] };
    this.#process.write({ type: "user", message, uuid });
  }

  #dispatch(message: Json, handlers: LinkHandlers): void {
    if (message.type === "control_response") this.#settle(objectAt(message, "response"));
    else if (message.type === "control_request") {
      handlers.request(textAt(message, "request_id") ?? "", objectAt(message, "request"));
    } else if (message.type === "control_cancel_request") handlers.withdrawn(textAt(message, "request_id") ?? "");
    else handlers.message(message);
  }

  /** Our own answers come back as well, because user messages are replayed: they match nothing. */
  #settle(response: Json): void {
    const id = textAt(response, "request_id") ?? "";
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (response.subtype === "success") waiting?.resolve(objectAt(response, "response"));
    else waiting?.reject(new ControlError(textAt(response, "error") ?? "refused"));
  }
}
