/**
 * JSON-RPC lines to and from the agent's process. Session updates are extracted here, before the SDK: the SDK drops
 * unknown kinds, and extraction here keeps their order relative to the answer that follows.
 */
import { ReadableStream, type ReadableStreamDefaultController, WritableStream } from "node:stream/web";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import type { Logger } from "../../lib/log.ts";
import type { Child } from "../../lib/process.ts";
import { isObject, type Json, textAt } from "../cli-harness/fields.ts";
import { JsonProcess } from "../cli-harness/json-process.ts";

export type SessionUpdate = { sessionId: string; update: unknown };

export type Wire = {
  process: JsonProcess;
  stream: Stream;
  /** The first line that was not a message: the output of a program that does not speak the protocol. */
  noise(): string | null;
};

export type WireHandlers = {
  update(update: SessionUpdate): void;
  /** Null if the next line may be read; otherwise resolves when it may. */
  room(): Promise<void> | null;
};

export function openWire(child: Child, handlers: WireHandlers, log: Logger): Wire {
  let firstNoise: string | null = null;
  let reader: ReadableStreamDefaultController<AnyMessage> | null = null;
  const readable = new ReadableStream<AnyMessage>({
    start: (controller) => {
      reader = controller;
    },
    cancel: () => {
      reader = null;
    },
  });
  const process = new JsonProcess(child, {
    message(value) {
      const update = updateOf(value);
      if (update !== null) handlers.update(update);
      else if (value.jsonrpc === "2.0") reader?.enqueue(value as AnyMessage);
    },
    room: () => handlers.room(),
    noise(line) {
      firstNoise ??= line.slice(0, 500);
      log.debug("the agent wrote a line that is not a message", { line: line.slice(0, 500) });
    },
  });
  const writable = new WritableStream<AnyMessage>({ write: (message) => process.write(message) });
  void process.ended.then(() => reader?.close());
  return { process, stream: { readable, writable } as Stream, noise: () => firstNoise };
}

function updateOf(message: Json): SessionUpdate | null {
  if (message.method !== "session/update" || "id" in message || !isObject(message.params)) return null;
  return { sessionId: textAt(message.params, "sessionId") ?? "", update: message.params.update };
}
