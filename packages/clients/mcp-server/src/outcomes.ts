/** Waits for work, for less time than the most impatient MCP client, and reports results page by page. */
import { waitForMessage } from "@aegis/client/wait.ts";
import { waitForRun, waitForTask } from "@aegis/client/wait-work.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { isId, type MessageId, type RunId, type TaskId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { Call, McpContext } from "./context.ts";

/** Some clients end a call after 60 seconds and cannot be configured. */
export const longestWaitSeconds = 45;
export const defaultWaitSeconds = 40;
/** Claude Code moves results of more than about 50,000 characters to a file. */
const pageLength = 20_000;

type WorkId = MessageId | TaskId | RunId;

/** The state of one piece of work. `text` is null until it has ended. */
type Work = {
  status: string;
  text: string | null;
  error?: string;
  session?: string;
  verified?: boolean;
  receipt?: string;
};

export function workId(id: string): WorkId {
  if (isId("msg", id) || isId("tsk", id) || isId("run", id)) return id;
  throw new AegisError("invalid", `"${id}" is not the id of a message, task or run`, {
    hint: "ids start with msg_, tsk_ or run_; the tool that started the work returned one",
  });
}

/** Waits until the work has ended, needs an answer, or the time is over. */
export async function outcomeOf(context: McpContext, id: WorkId, seconds: number, call: Call): Promise<unknown> {
  const enough = new AbortController();
  const limit = AbortSignal.timeout(Math.min(seconds, longestWaitSeconds) * 1000);
  const signal = AbortSignal.any([call.signal, limit, enough.signal]);
  try {
    await settled(context, id, signal, () => enough.abort());
  } catch (error) {
    call.signal.throwIfAborted();
    if (!signal.aborted) throw error;
  }
  return resultOf(context, id, 0);
}

/** The result from an offset on, or what to do while there is none. */
export async function resultOf(context: McpContext, id: WorkId, offset: number): Promise<unknown> {
  const { text, ...work } = await read(context, id);
  if (text === null) {
    const asks = await openAsks(context);
    return {
      id,
      ...work,
      next: asks.length === 0 ? "call aegis_wait with this id" : "an agent waits for a person: call aegis_asks",
      ...(asks.length === 0 ? {} : { asks }),
    };
  }
  const page = text.slice(offset, offset + pageLength);
  const end = offset + page.length;
  if (end >= text.length) return { id, ...work, text: page };
  const rest = `call aegis_result with this id and offset ${end}`;
  return { id, ...work, text: page, length: text.length, rest };
}

async function openAsks({ client }: McpContext) {
  const { asks } = await client.call("listAsks");
  return asks.map(shownAsk);
}

export function shownAsk({ id, kind, question, options, origin, session, tool }: Ask) {
  const who = origin === null ? session : `${origin.handle} (${origin.agent})`;
  return { id, kind, asked_by: who, question, ...(tool === null ? {} : { tool }), options };
}

async function settled(context: McpContext, id: WorkId, signal: AbortSignal, stop: () => void): Promise<void> {
  const { client, onBreak } = context;
  const options = { signal, onReconnect: onBreak };
  if (isId("tsk", id)) return void (await waitForTask(client, id, options));
  if (isId("run", id)) return void (await waitForRun(client, id, options));
  const { session } = await messageOf(context, id);
  // Read before the asks: an ask that opens later is in the events after it.
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 }, signal });
  const { asks } = await client.call("listAsks", { signal });
  // A turn that waits for a person does not end by waiting longer.
  if (asks.some((ask) => ask.session === session)) return;
  await waitForMessage(client, id, session, {
    ...options,
    after,
    onEvent: (item) => {
      if (item.kind === "event" && item.event.type === "ask.opened") stop();
    },
  });
}

async function read(context: McpContext, id: WorkId): Promise<Work> {
  const { client } = context;
  if (isId("tsk", id)) {
    const { task } = await client.call("getTask", { path: { task: id } });
    const isOver = task.status !== "pending" && task.status !== "dispatched";
    const error = task.error === null ? {} : { error: task.error };
    const proof = isOver ? { verified: task.verified } : {};
    const receipt = task.receipt === null ? {} : { receipt: receiptWords(task.receipt) };
    return { status: task.status, ...proof, ...receipt, text: isOver ? (task.result ?? "") : null, ...error };
  }
  if (isId("run", id)) {
    const { run } = await client.call("getRun", { path: { run: id } });
    const error = run.error === null ? {} : { error: run.error.message };
    return { status: run.status, text: run.status === "running" ? null : resultText(run.result), ...error };
  }
  const message = await messageOf(context, id);
  const { session, status, turn } = message;
  if (status === "pending" || status === "dispatched") {
    return { status: status === "pending" ? "waiting" : "working", session, text: null };
  }
  if (turn === null) return { status, session, text: "" };
  const { turn: ended } = await client.call("getTurn", { path: { turn } });
  const error = ended.error === null ? {} : { error: ended.error.message };
  return { status: status === "done" ? (ended.reason ?? status) : status, session, text: ended.text, ...error };
}

async function messageOf({ client }: McpContext, message: MessageId): Promise<Message> {
  return (await client.call("getMessage", { path: { message } })).message;
}

function resultText(result: unknown): string {
  if (result === null || result === undefined) return "";
  return typeof result === "string" ? result : JSON.stringify(result, null, 2);
}
