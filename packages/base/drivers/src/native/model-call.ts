/** Makes one model call for the loop: waits, retries, and times out if the model is silent. */
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { DriverEvent } from "../driver.ts";
import type { Answer } from "./answer.ts";
import { longestWaitMs, maxRetries, retryDelay } from "./backoff.ts";
import { InactivityError, ModelFailure } from "./failures.ts";
import type { Model, ModelCall, ModelPart } from "./model.ts";

export type CallSettings = {
  model: Model;
  clock: Clock;
  log: Logger;
  inactivityMs: number;
  /** The id for the shown deltas, or null to show none. */
  message: string | null;
};

/**
 * Yields the deltas and fills the answer. Retries a call that failed before any of it was shown. Throws `ModelFailure`,
 * `InactivityError`, or the signal's reason.
 */
export async function* callModel(
  request: Omit<ModelCall, "signal">,
  newAnswer: () => Answer,
  settings: CallSettings,
  signal: AbortSignal,
): AsyncGenerator<DriverEvent, Answer> {
  for (let attempt = 0; ; attempt++) {
    const answer = newAnswer();
    try {
      yield* streamOnce(request, answer, settings, signal);
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      const wait = error instanceof ModelFailure ? waitBefore(error, attempt, answer) : null;
      if (!(error instanceof ModelFailure) || wait === null) throw error;
      yield { type: "notice", level: "warning", text: retryNotice(error, wait, attempt) };
      await settings.clock.sleep(wait, signal);
    }
  }
}

async function* streamOnce(
  request: Omit<ModelCall, "signal">,
  answer: Answer,
  { model, clock, log, inactivityMs, message }: CallSettings,
  signal: AbortSignal,
): AsyncGenerator<DriverEvent> {
  using watch = watchActivity(clock, inactivityMs, signal);
  for await (const part of model.stream({ ...request, signal: watch.signal })) {
    watch.touch();
    if (part.type === "warning") log.debug("warning from the model library", { warning: part.text });
    const shown = answer.take(part);
    if (shown !== "" && message !== null) yield delta(part, message, shown);
  }
  if (answer.reason !== "cut" && (answer.reason !== "other" || answer.begun)) return;
  const text = "The model's answer ended before it was complete.";
  throw new ModelFailure("network", { code: "protocol", message: text, fix: "Send the message again." }, null);
}

function delta(part: ModelPart, message: string, text: string): DriverEvent {
  const thinking = part.type === "block" && part.block === "thinking";
  return thinking
    ? { type: "thinking_delta", message: `${message}/thinking`, text }
    : { type: "text_delta", message, text };
}

/** Null if a retry is not useful, or if part of the answer has been shown already. */
function waitBefore(failure: ModelFailure, attempt: number, answer: Answer): number | null {
  if (!failure.retryable || answer.begun || attempt >= maxRetries) return null;
  const wait = retryDelay(attempt, failure.retryAfterMs, Math.random());
  return wait > longestWaitMs ? null : wait;
}

function retryNotice(failure: ModelFailure, wait: number, attempt: number): string {
  const seconds = (wait / 1000).toFixed(1).replace(/\.0$/, "");
  return `${failure.message}. Retrying in ${seconds} s (${attempt + 1} of ${maxRetries}).`;
}

type Watch = Disposable & { signal: AbortSignal; touch(): void };

/** A signal that aborts with the caller's, or with `InactivityError` after `limitMs` without activity. */
function watchActivity(clock: Clock, limitMs: number, outer: AbortSignal): Watch {
  const silent = new AbortController();
  const over = new AbortController();
  let last = clock.now();
  const guard = async () => {
    for (let rest = limitMs; rest > 0; rest = last + limitMs - clock.now()) await clock.sleep(rest, over.signal);
    const minutes = Number((limitMs / 60_000).toFixed(1));
    silent.abort(new InactivityError(`The model was silent for ${minutes} ${minutes === 1 ? "minute" : "minutes"}.`));
  };
  guard().catch(() => undefined);
  return {
    signal: AbortSignal.any([outer, silent.signal]),
    touch: () => {
      last = clock.now();
    },
    [Symbol.dispose]: () => over.abort(),
  };
}
