/**
 * JSON-RPC lines to and from the agent's process. Session updates are taken out here, before the SDK: it drops kinds
 * it does not know, and taken here they keep their order with the answer that follows them.
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
  /** The first line that was no message: what a program says that does not speak the protocol. */
  noise(): string | null;
};

export function openWire(child: Child, onUpdate: (update: SessionUpdate) => void, log: Logger): Wire {
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
      if (update !== null) onUpdate(update);
      else if (value.jsonrpc === "2.0") reader?.enqueue(value as AnyMessage);
    },
    noise(line) {
      firstNoise ??= line.slice(0, 500);
      log.debug("the agent wrote a line that is no message", { line: line.slice(0, 500) });
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
