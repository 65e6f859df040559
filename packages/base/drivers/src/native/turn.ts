/**
 * The loop of a native agent: call the model, run the tools it requests, and call it again with their results. Every
 * event is yielded before the loop acts on it: if the reader stores an event before it requests the next one, a tool
 * call is durable before the tool runs.
 */

import type { TurnError, Usage } from "@aegis/contract/turn.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";
import { z } from "zod";
import type { Arrivals } from "../arrivals.ts";
import type { ConversationHost, DriverEvent, ModelMessage, Prompt, TurnEnded } from "../driver.ts";
import { Answer } from "./answer.ts";
import type { Compactor } from "./compaction.ts";
import { InactivityError, ModelFailure } from "./failures.ts";
import type { History } from "./history.ts";
import { messageSchema, type NativeMessage } from "./messages.ts";
import type { ModelCall } from "./model.ts";
import { type CallSettings, callModel } from "./model-call.ts";
import { repair } from "./repair.ts";
import type { ToolRunner, TurnTools } from "./tool-runner.ts";

export type Loop = {
  host: ConversationHost;
  history: History;
  arrivals: Arrivals;
  compactor: Compactor;
  runner: ToolRunner;
  request: Omit<ModelCall, "signal" | "messages" | "tools">;
  call: Omit<CallSettings, "message">;
  maxCalls: number;
};

type End = Pick<TurnEnded, "reason" | "error">;

/** What error handling needs to know about the turn. */
type Progress = { answer: Answer | null; message: string; usage: Usage | null };

export async function* runTurn(
  loop: Loop,
  turn: TurnTools,
  prompt: Prompt,
  signal: AbortSignal,
): AsyncGenerator<DriverEvent> {
  const progress: Progress = { answer: null, message: prompt.turn, usage: null };
  let end: End;
  try {
    signal.throwIfAborted();
    yield* loop.history.addPrompt(prompt, prompt.history);
    yield { type: "accepted" };
    loop.arrivals.open();
    end = yield* answerPrompt(loop, turn, prompt, progress, signal);
  } catch (error) {
    loop.arrivals.close();
    yield* keepPartial(loop, progress);
    end = signal.aborted ? { reason: "cancelled", error: null } : { reason: "failed", error: toTurnError(error, loop) };
  }
  loop.arrivals.close();
  yield { type: "turn.ended", ...end, usage: progress.usage };
}

async function* answerPrompt(
  loop: Loop,
  turn: TurnTools,
  prompt: Prompt,
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<DriverEvent, End> {
  for (let call = 0; call < loop.maxCalls; call++) {
    progress.message = `${prompt.turn}/${call}`;
    yield* takeIn(loop);
    const answer = yield* ask(loop, turn, progress, signal);
    progress.answer = null;
    const end = endFor(answer);
    yield* show(answer, progress.message);
    yield* remember(loop, answer, end);
    progress.usage = addUsage(progress.usage, answer.usage);
    yield { type: "usage", ...answer.usage };
    yield loop.compactor.counted(answer.usage);
    // A message that arrived during the model's last answer is answered in the same turn.
    if (end !== null && (end.reason !== "completed" || loop.arrivals.closeIfEmpty())) return end;
    if (yield* loop.runner.run(answer.calls, turn, signal))
      return limit("tool_loop", `The model made the same ${answer.calls.at(-1)?.name} call repeatedly.`);
  }
  const fix = "Raise the agent's max_turns, or ask for less at once.";
  return limit("tool_loop", `The turn reached its limit of ${loop.maxCalls} model calls.`, fix);
}

/** Adds the messages that joined the turn. Each is durable when the next event is requested. */
async function* takeIn({ arrivals, history }: Loop): AsyncGenerator<DriverEvent> {
  for (const { message, resolve } of arrivals.take()) {
    yield* history.addPrompt(message);
    resolve(true);
  }
}

/** One answer of the model. If the conversation does not fit, summarises it once and repeats the call. */
async function* ask(
  loop: Loop,
  turn: TurnTools,
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<DriverEvent, Answer> {
  const tools = [...turn.tools.values()];
  const spend = (usage: Usage) => {
    progress.usage = addUsage(progress.usage, usage);
  };
  yield* loop.compactor.whenFull(spend, signal);
  for (let overflowed = false; ; overflowed = true) {
    const newAnswer = () => {
      progress.answer = new Answer((id) => loop.history.freshCallId(id));
      return progress.answer;
    };
    const own = { ...loop.request, messages: loop.history.forModel(), tools };
    const request = await plugged(own, loop.host, loop.call.log, signal);
    try {
      return yield* callModel(request, newAnswer, { ...loop.call, message: progress.message }, signal);
    } catch (error) {
      const overflow = error instanceof ModelFailure && error.kind === "overflow";
      if (!overflow || overflowed || !(yield* loop.compactor.now(spend, signal))) throw error;
    }
  }
}

function endFor(answer: Answer): End | null {
  if (answer.reason === "content-filter")
    return { reason: "refused", error: { code: "blocked", message: "The model declined to answer." } };
  if (answer.reason === "length")
    return limit(
      "model",
      "The answer reached the model's output limit.",
      "Raise the agent's max_tokens, or send a message to continue.",
    );
  return answer.calls.length === 0 ? { reason: "completed", error: null } : null;
}

function* show(answer: Answer, message: string): Generator<DriverEvent> {
  const { thinking, text } = answer;
  if (thinking !== "") yield { type: "thinking", message: `${message}/thinking`, text: thinking };
  if (text !== "") yield { type: "text", message, text };
}

/** Tool calls of an answer that ended too early are not kept. */
function* remember({ history }: Loop, answer: Answer, end: End | null): Generator<DriverEvent> {
  if (end === null || end.reason === "completed") {
    const message = answer.message();
    if (message.content.length > 0) yield history.add(message);
    return;
  }
  const declined = { role: "assistant" as const, content: [{ type: "text" as const, text: "(no answer)" }] };
  yield history.add(answer.partialMessage() ?? declined);
}

/** Keeps the part of a broken answer that was already shown, for people and for the model. */
function* keepPartial({ history }: Loop, { answer, message }: Progress): Generator<DriverEvent> {
  if (answer === null) return;
  yield* show(answer, message);
  const partial = answer.partialMessage();
  if (partial !== null) yield history.add(partial);
}

function limit(code: string, message: string, fix?: string): End {
  return { reason: "truncated", error: { code, message, ...(fix === undefined ? {} : { fix }) } };
}

function toTurnError(error: unknown, { call }: Loop): TurnError {
  if (error instanceof ModelFailure) return error.turnError;
  if (error instanceof InactivityError)
    return { code: "timeout", message: error.message, fix: "Send the message again, or raise inactivity_minutes." };
  call.log.error("a turn of a native agent failed", { error: error instanceof Error ? error.stack : error });
  return { code: "internal", message: errorText(error) };
}

function addUsage(sum: Usage | null, usage: Usage): Usage {
  if (sum === null) return usage;
  return {
    input: sum.input + usage.input,
    cache_read: sum.cache_read + usage.cache_read,
    cache_write: sum.cache_write + usage.cache_write,
    output: sum.output + usage.output,
    cost: sum.cost === null || usage.cost === null ? null : sum.cost + usage.cost,
  };
}

type Request = { system: string; messages: readonly NativeMessage[] };

/** Plugins may write a plain string instead of a part. */
const pluginMessageSchema = z.union([
  messageSchema,
  z
    .object({ role: z.literal("assistant"), content: z.string() })
    .transform(({ role, content }): NativeMessage => ({ role, content: [{ type: "text", text: content }] })),
]);

/** The request as changed by plugins: another system prompt, other messages. */
async function plugged<R extends Request>(
  request: R,
  host: ConversationHost,
  log: Logger,
  signal: AbortSignal,
): Promise<R> {
  const given = { systemPrompt: request.system, messages: request.messages };
  const changed = await untilAborted(host.beforeModel(given, signal), signal);
  if (changed === given) return request;
  return { ...request, system: changed.systemPrompt, messages: read(changed.messages, request.messages, log) };
}

/** Ignores messages that no model API accepts: the call is then sent unchanged. */
function read(given: readonly ModelMessage[], before: readonly NativeMessage[], log: Logger): readonly NativeMessage[] {
  if (given === before) return before;
  const parsed = z.array(pluginMessageSchema).safeParse(given);
  if (parsed.success) return repair(parsed.data);
  log.warn("a plugin returned messages that cannot be sent; the model gets the original ones", {
    problem: z.prettifyError(parsed.error),
  });
  return before;
}
