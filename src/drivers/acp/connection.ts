/** The ACP client of one process. The only module that uses the SDK's connection. */
import { client, methods, RequestError, type Stream } from "@agentclientprotocol/sdk";
import type { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import { type AcpPermissionRequest, permissionRequestSchema } from "./updates.ts";

export { RequestError };

export type PermissionOutcome = { outcome: "cancelled" } | { outcome: "selected"; optionId: string };
export type PermissionHandler = (request: AcpPermissionRequest, signal: AbortSignal) => Promise<PermissionOutcome>;

/** The agent did not answer in time. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** The agent's answer does not conform to the protocol. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
}

export interface Connection {
  /** Rejects with `RequestError`, `DeadlineError`, `AnswerError`, or when the connection closes. */
  request<S extends z.ZodType>(method: string, params: unknown, answer: S, deadlineMs?: number): Promise<z.infer<S>>;
  notify(method: string, params: unknown): Promise<void>;
}

/** Lives until the stream ends, which happens when the process ends. */
export function connect(
  stream: Stream,
  permission: PermissionHandler,
  deps: { clock: Clock; log: Logger },
): Connection {
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
