/** Tracks how full the model's context is and summarises the conversation before it overflows. */
import type { Usage } from "../../contract/turn.ts";
import type { DriverEvent } from "../driver.ts";
import { Answer } from "./answer.ts";
import { compactionCooldown, isFull, planCompaction } from "./compaction.ts";
import { ModelFailure } from "./failures.ts";
import type { History } from "./history.ts";
import { estimateTokens } from "./messages.ts";
import type { ModelCall } from "./model.ts";
import { type CallSettings, callModel } from "./model-call.ts";

export type CompactorSettings = {
  history: History;
  size: number;
  request: Omit<ModelCall, "signal" | "messages" | "tools">;
  call: Omit<CallSettings, "message">;
};

export class Compactor {
  readonly #settings: CompactorSettings;
  /** Tokens of the first `#counted` messages, as counted by the model. */
  #used = 0;
  #counted = 0;
  #callsSince = compactionCooldown;

  constructor(settings: CompactorSettings) {
    this.#settings = settings;
  }

  /** Records the model's own count after a call, and returns the event that shows it. */
  counted(usage: Usage): DriverEvent {
    this.#used = usage.input + usage.cache_read + usage.cache_write + usage.output;
    this.#counted = this.#settings.history.messages.length;
    this.#callsSince += 1;
    return { type: "context", used: this.#used, size: this.#settings.size };
  }

  /** Summarises the conversation if the context is nearly full. A failure is reported and otherwise ignored. */
  async *whenFull(spend: (usage: Usage) => void, signal: AbortSignal): AsyncGenerator<DriverEvent> {
    if (this.#callsSince < compactionCooldown || !isFull(this.#estimate(), this.#settings.size)) return;
    this.#callsSince = 0;
    try {
      yield* this.now(spend, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelFailure)) throw error;
      yield { type: "notice", level: "warning", text: `The conversation could not be summarised: ${error.message}` };
    }
  }

  /** Returns false if there is nothing to summarise. */
  async *now(spend: (usage: Usage) => void, signal: AbortSignal): AsyncGenerator<DriverEvent, boolean> {
    const { history, size, request, call } = this.#settings;
    const plan = planCompaction(history.messages, size);
    if (plan === null) return false;
    const summarise = { ...request, ...plan.request, tools: [] };
    const answer = yield* callModel(summarise, () => new Answer((id) => id), { ...call, message: null }, signal);
    spend(answer.usage);
    yield { type: "usage", ...answer.usage };
    if (answer.text.trim() === "") return false;
    yield { type: "compaction", summary: answer.text };
    yield history.compact(plan.apply(answer.text));
    this.#used = 0;
    this.#counted = 0;
    this.#callsSince = 0;
    return true;
  }

  #estimate(): number {
    return this.#used + estimateTokens(this.#settings.history.messages.slice(this.#counted));
  }
}
