/** The usage of a turn. Codex counts over the whole thread, so a turn is the difference from its start. */
import type { TurnItems, Usage } from "../../contract/turn.ts";
import { type Json, numberAt, objectAt } from "../cli-harness/fields.ts";

type Counts = { input: number; cached: number; written: number; output: number };

export class TurnUsage {
  /** Null until the thread's first count is known: a resumed thread starts with its earlier usage. */
  #before: Counts | null = null;
  #now: Counts | null = null;
  #context: TurnItems["context"] | null = null;

  update(usage: Json): void {
    const total = readCounts(objectAt(usage, "total"));
    this.#before ??= minus(total, readCounts(objectAt(usage, "last")));
    this.#now = total;
    const used = numberAt(objectAt(usage, "last"), "totalTokens");
    if (used !== null) this.#context = { used, size: numberAt(usage, "modelContextWindow") };
  }

  context(): TurnItems["context"] | null {
    return this.#context;
  }

  /** The turn's usage; the next turn counts from here. Null if the model was not called. */
  take(): Usage | null {
    const [before, now] = [this.#before, this.#now];
    this.#context = null;
    if (before === null || now === null) return null;
    this.#before = now;
    this.#now = null;
    const { input, cached, written, output } = minus(now, before);
    // Codex also counts cached tokens as input.
    return { input: input - cached - written, cache_read: cached, cache_write: written, output, cost: null };
  }
}

function readCounts(counts: Json): Counts {
  return {
    input: numberAt(counts, "inputTokens") ?? 0,
    cached: numberAt(counts, "cachedInputTokens") ?? 0,
    written: numberAt(counts, "cacheWriteInputTokens") ?? 0,
    output: numberAt(counts, "outputTokens") ?? 0,
  };
}

function minus(a: Counts, b: Counts): Counts {
  return {
    input: a.input - b.input,
    cached: a.cached - b.cached,
    written: a.written - b.written,
    output: a.output - b.output,
  };
}
