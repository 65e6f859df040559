/** Compacts a long conversation: keeps the first brief and the latest messages verbatim. */

import type { Usage } from "@aegis/contract/turn.ts";
import type { DriverEvent } from "../driver.ts";
import { Answer } from "./answer.ts";
import { ModelFailure } from "./failures.ts";
import type { History } from "./history.ts";
import { estimateTokens, type NativeMessage, toolCalls, userMessage } from "./messages.ts";
import type { ModelCall } from "./model.ts";
import { type CallSettings, callModel } from "./model-call.ts";
import { repair } from "./repair.ts";

/** The share of the context at which the conversation is summarised. */
const fullAt = 0.75;
/** The share of the context for the latest messages, and for the first brief. */
const recentShare = 0.2;
const briefShare = 0.1;
/** The share of the context that the summarising model may be shown. */
const transcriptShare = 0.5;
/**
 * The least number of model calls between two compactions. Without it, a conversation that stays full would only
 * summarise itself.
 */
const compactionCooldown = 5;

const summaryHeading = "[Summary of the conversation so far]";

function isFull(used: number, size: number): boolean {
  return used > size * fullAt;
}

type CompactionPlan = {
  /** The request to the model, to be sent without tools. */
  request: { system: string; messages: NativeMessage[] };
  /** Returns the compacted conversation. */
  apply(summary: string): NativeMessage[];
};

/** Null if there is nothing to summarise: the brief and the latest messages are everything. */
function planCompaction(messages: readonly NativeMessage[], size: number): CompactionPlan | null {
  const clean = repair(messages);
  // Also limited by the estimate: a model that counts more tokens than estimated must not keep everything.
  const start = recentStart(clean, Math.min(size, estimateTokens(clean)) * recentShare);
  const brief = clean[0];
  const older = clean.slice(1, start);
  if (brief === undefined || brief.role !== "user" || older.length === 0) return null;
  const transcript = older.map(render).join("\n\n");
  return {
    request: {
      system: instructions,
      messages: [
        userMessage(
          `The brief:\n${middleCut(brief.content, tokens(size * briefShare))}\n\n` +
            `What followed:\n${middleCut(transcript, tokens(size * transcriptShare))}\n\nWrite the summary now.`,
        ),
      ],
    },
    apply: (summary) => [
      userMessage(middleCut(brief.content, tokens(size * briefShare))),
      userMessage(`${summaryHeading}\n${summary.trim()}`),
      ...clean.slice(start),
    ],
  };
}

const instructions = `You summarise the work of a coding agent so that it can continue without the full record.
Keep: what was asked, what was decided and why, what was done (files, commands, results), what failed, what is open, and
every exact name, path, number and quotation that will be needed. Leave out greetings and dead ends that teach nothing.
Write plain text under short headings. Do not continue the work and do not call tools.`;

/**
 * The index of the first of the latest messages that fit. Never splits a tool result from its call, and never keeps
 * everything.
 */
function recentStart(messages: readonly NativeMessage[], budget: number): number {
  let start = messages.length;
  let size = 0;
  for (let index = messages.length - 1; index > 0; index--) {
    const message = messages[index];
    if (message === undefined) break;
    size += estimateTokens([message]);
    if (size > budget) break;
    if (message.role !== "tool") start = index;
  }
  return start < messages.length ? start : lastStart(messages);
}

/** If even the last step exceeds the budget, keep it alone: the model must see its latest request. */
function lastStart(messages: readonly NativeMessage[]): number {
  const index = messages.findLastIndex((message) => message.role !== "tool");
  return Math.max(1, index);
}

function render(message: NativeMessage): string {
  if (message.role === "user") return `USER: ${message.content}`;
  if (message.role === "tool")
    return message.content
      .map((part) => `RESULT of ${part.toolName}: ${middleCut(part.output.value, 2000)}`)
      .join("\n");
  const said = message.content.filter((part) => part.type === "text").map((part) => part.text);
  const calls = toolCalls(message).map(
    (call) => `CALL ${call.toolName} ${middleCut(JSON.stringify(call.input) ?? "", 1000)}`,
  );
  return ["AGENT:", ...said, ...calls].join("\n");
}

/** Assumes four characters per token. */
function tokens(count: number): number {
  return Math.floor(count * 4);
}

function middleCut(text: string, most: number): string {
  if (text.length <= most) return text;
  const side = Math.floor(most / 2);
  return `${text.slice(0, side)}\n[cut: ${text.length - 2 * side} characters]\n${text.slice(text.length - side)}`;
}

type CompactorSettings = {
  history: History;
  size: number;
  request: Omit<ModelCall, "signal" | "messages" | "tools">;
  call: Omit<CallSettings, "message">;
};

/** Tracks how full the model's context is and summarises the conversation before it overflows. */
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
