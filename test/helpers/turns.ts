/** Reads turns of a conversation, and holds every turn to what any driver promises. */

import { turnItemSchemas } from "@aegis/contract/turn.ts";
import type { Addition, Conversation, DriverEvent, Prompt, TurnEnded } from "@aegis/drivers/driver.ts";
import { expect } from "vitest";

export type TurnWatch = {
  /** What came so far. */
  readonly events: readonly DriverEvent[];
  /** Resolves at the first event of this kind; rejects when the turn ends without one. */
  seen(type: DriverEvent["type"]): Promise<DriverEvent>;
  /** All events, checked by `expectWholeTurn`. */
  readonly done: Promise<DriverEvent[]>;
  abort(): void;
};

/** Runs a turn in the background. */
export function watchTurn(conversation: Conversation, prompt: string | Prompt): TurnWatch {
  const stop = new AbortController();
  const stream = conversation.send(typeof prompt === "string" ? promptOf(prompt) : prompt, stop.signal);
  return { ...watchEvents(stream), abort: () => stop.abort() };
}

export function watchEvents(stream: AsyncIterable<DriverEvent>): Omit<TurnWatch, "abort"> {
  const events: DriverEvent[] = [];
  let wake = Promise.withResolvers<void>();
  const done = (async () => {
    try {
      for await (const event of stream) {
        events.push(event);
        wake.resolve();
        wake = Promise.withResolvers();
      }
    } finally {
      wake.resolve();
    }
    expectWholeTurn(events);
    return events;
  })();
  // A caller that awaits `done` sees the failure; a test that only waits for `seen` must not crash the runner.
  done.catch(() => {});

  return {
    events,
    done,
    async seen(type) {
      while (true) {
        const found = events.find((event) => event.type === type);
        if (found !== undefined) return found;
        if (events.some((event) => event.type === "turn.ended")) {
          throw new Error(`the turn ended without ${type}: ${describeEvents(events)}`);
        }
        await wake.promise;
      }
    },
  };
}

/** Runs a turn to its end. */
export function runTurn(conversation: Conversation, prompt: string | Prompt): Promise<DriverEvent[]> {
  return watchTurn(conversation, prompt).done;
}

export function promptOf(text: string, key = `key-${crypto.randomUUID()}`): Prompt {
  return { text, parts: [text], images: [], history: [], turn: `trn-${crypto.randomUUID()}`, key };
}

export function additionOf(text: string): Addition {
  return { text, parts: [text], images: [], key: `key-${crypto.randomUUID()}` };
}

export function eventsOf<T extends DriverEvent["type"]>(
  events: readonly DriverEvent[],
  type: T,
): Extract<DriverEvent, { type: T }>[] {
  return events.filter((event): event is Extract<DriverEvent, { type: T }> => event.type === type);
}

/** Everything the agent said, as one string. */
export function textOf(events: readonly DriverEvent[]): string {
  return eventsOf(events, "text")
    .map((event) => event.text)
    .join("\n");
}

export function endOf(events: readonly DriverEvent[]): TurnEnded {
  const [end] = eventsOf(events, "turn.ended");
  if (end === undefined) throw new Error(`no end: ${describeEvents(events)}`);
  return end;
}

/** One end, at the end; items as the contract has them; deltas that add up; results that belong to calls. */
export function expectWholeTurn(events: readonly DriverEvent[]): void {
  expect(eventsOf(events, "turn.ended"), describeEvents(events)).toHaveLength(1);
  expect(events.at(-1)?.type).toBe("turn.ended");
  expect(eventsOf(events, "accepted").length).toBeLessThanOrEqual(1);
  const end = endOf(events);
  if (end.reason === "failed") expect(end.error).not.toBeNull();
  if (end.reason === "completed") expect(end.error).toBeNull();
  for (const { type, ...item } of events) {
    if (type in turnItemSchemas) turnItemSchemas[type as keyof typeof turnItemSchemas].parse(item);
  }
  expectDeltasAddUp(events, "text_delta", "text");
  expectDeltasAddUp(events, "thinking_delta", "thinking");
  const calls = new Set<string>();
  for (const event of events) {
    if (event.type === "tool_call") calls.add(event.call);
    if (event.type === "tool_result") expect(calls, "a result without its call").toContain(event.call);
  }
}

function expectDeltasAddUp(
  events: readonly DriverEvent[],
  delta: "text_delta" | "thinking_delta",
  whole: "text" | "thinking",
): void {
  const streamed = new Map<string, string>();
  for (const { message, text } of eventsOf(events, delta)) streamed.set(message, (streamed.get(message) ?? "") + text);
  for (const { message, text } of eventsOf(events, whole)) {
    const parts = streamed.get(message);
    // Compared by hand: the runner's diff of two long strings takes minutes.
    if (parts !== undefined && parts !== text) {
      throw new Error(`the deltas of ${whole} ${message} add up to ${parts.length} characters, not ${text.length}`);
    }
  }
}

function describeEvents(events: readonly DriverEvent[]): string {
  return `events: ${JSON.stringify(events).slice(0, 2000)}`;
}
