/** The control protocol of one Claude Code process: requests and responses in both directions on its pipes. */
import { randomUUID } from "node:crypto";
import type { Child } from "@aegis/lib/process.ts";
import { Channel, type ChannelProcess } from "../cli-harness/channel.ts";
import { type JsonFields, objectAt, textAt } from "../cli-harness/fields.ts";

export type LinkHandlers = {
  message(message: JsonFields): void;
  /** A request from the CLI. Answer with `respond` or `refuse`. */
  request(id: string, request: JsonFields): void;
  /** The CLI no longer waits for the answer. */
  withdrawn(id: string): void;
  noise(line: string): void;
  room(): Promise<void> | null;
};

class ControlError extends Error {
  override readonly name = "ControlError";
}

export class ClaudeLink {
  readonly #channel: Channel<string>;

  constructor(child: Child, handlers: LinkHandlers) {
    this.#channel = new Channel(
      child,
      {
        message: (message) => this.#dispatch(message, handlers),
        noise: (line) => handlers.noise(line),
        room: () => handlers.room(),
      },
      () => new ControlError("Claude Code ended"),
    );
  }

  get process(): ChannelProcess {
    return this.#channel;
  }

  /** Rejects with `ControlError` when the CLI refuses or ends. */
  control(request: JsonFields): Promise<JsonFields> {
    const id = randomUUID();
    return this.#channel.request(id, { type: "control_request", request_id: id, request });
  }

  respond(id: string, response: JsonFields): void {
    this.#channel.write({ type: "control_response", response: { subtype: "success", request_id: id, response } });
  }

  refuse(id: string, error: string): void {
    this.#channel.write({ type: "control_response", response: { subtype: "error", request_id: id, error } });
  }

  prompt(content: readonly JsonFields[], uuid: string): void {
    this.#channel.write({ type: "user", message: { role: "user", content }, uuid });
  }

  #dispatch(message: JsonFields, handlers: LinkHandlers): void {
    if (message.type === "control_response") this.#settle(objectAt(message, "response"));
    else if (message.type === "control_request") {
      handlers.request(textAt(message, "request_id") ?? "", objectAt(message, "request"));
    } else if (message.type === "control_cancel_request") handlers.withdrawn(textAt(message, "request_id") ?? "");
    else handlers.message(message);
  }

  /** The CLI replays user messages, so our own responses come back too: they match no request. */
  #settle(response: JsonFields): void {
    const isSuccess = response.subtype === "success";
    const refusal = () => new ControlError(textAt(response, "error") ?? "refused");
    this.#channel.settle(textAt(response, "request_id") ?? "", isSuccess ? objectAt(response, "response") : refusal());
  }
}
