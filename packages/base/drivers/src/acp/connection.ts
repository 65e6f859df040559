/** The ACP client of one process, and the JSON-RPC lines below it. The only module that uses the SDK's connection. */

import { ReadableStream, type ReadableStreamDefaultController, WritableStream } from "node:stream/web";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Child } from "@aegis/lib/process.ts";
import { type AnyMessage, client, methods, RequestError, type Stream } from "@agentclientprotocol/sdk";
import type { z } from "zod";
import { isObject, type JsonFields, textAt } from "../cli-harness/fields.ts";
import { JsonProcess } from "../cli-harness/json-process.ts";
import { type AcpPermissionRequest, permissionRequestSchema } from "./updates.ts";

export { RequestError };

export type PermissionOutcome = { outcome: "cancelled" } | { outcome: "selected"; optionId: string };
export type PermissionHandler = (request: AcpPermissionRequest, signal: AbortSignal) => Promise<PermissionOutcome>;

/** The agent did not answer in time. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** The agent's answer does not conform to the protocol. */
class AnswerError extends Error {
  override readonly name = "AnswerError";
}

export interface AcpConnection {
  /** Rejects with `RequestError`, `DeadlineError`, `AnswerError`, or when the connection closes. */
  request<S extends z.ZodType>(method: string, params: unknown, answer: S, deadlineMs?: number): Promise<z.infer<S>>;
  notify(method: string, params: unknown): Promise<void>;
}

/** Lives until the stream ends, which happens when the process ends. */
export function connect(
  stream: Stream,
  permission: PermissionHandler,
  deps: { clock: Clock; log: Logger },
): AcpConnection {
  const connection = client({ name: "aegis" })
    .onRequest(methods.client.session.requestPermission, permissionRequestSchema, async ({ params, signal }) => ({
      outcome: await permission(params, signal),
    }))
    .onRequest("*", ({ method }) => {
      deps.log.debug("the agent requested a method that Aegis does not support", { method });
      throw RequestError.methodNotFound(method);
    })
    .onNotification("*", ({ method }) => deps.log.debug("the agent sent a notification of its own", { method }))
    .connect(stream);

  return {
    async request(method, params, answer, deadlineMs) {
      const sent = connection.agent.request<unknown, unknown>(method, params);
      const value = deadlineMs === undefined ? await sent : await within(deps.clock, deadlineMs, sent, method);
      const parsed = answer.safeParse(value ?? {});
      if (!parsed.success) throw new AnswerError(`${method} returned an invalid answer: ${parsed.error.message}`);
      return parsed.data;
    },
    notify: (method, params) => connection.agent.notify<unknown>(method, params),
  };
}

async function within<T>(clock: Clock, ms: number, work: Promise<T>, what: string): Promise<T> {
  const timer = new AbortController();
  const late = clock.sleep(ms, timer.signal).then(() => {
    throw new DeadlineError(`no answer to ${what} within ${Math.round(ms / 1000)} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}

export type SessionUpdate = { sessionId: string; update: unknown };

export type Wire = {
  process: JsonProcess;
  stream: Stream;
  /** The first line that was not a message: the output of a program that does not speak the protocol. */
  noise(): string | null;
};

type WireHandlers = {
  update(update: SessionUpdate): void;
  /** Null if the next line may be read; otherwise resolves when it may. */
  room(): Promise<void> | null;
};

/**
 * Session updates are extracted here, before the SDK: the SDK drops unknown kinds, and extraction here keeps their order
 * relative to the answer that follows.
 */
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

function updateOf(message: JsonFields): SessionUpdate | null {
  if (message.method !== "session/update" || "id" in message || !isObject(message.params)) return null;
  return { sessionId: textAt(message.params, "sessionId") ?? "", update: message.params.update };
}
