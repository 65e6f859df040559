/** The usage of a turn, from the five ways in which agents report it. */

import type { Usage } from "@aegis/contract/turn.ts";
import { z } from "zod";

/**
 * `turn`: the answer to a prompt has the turn's total. `last_call`: it has only the last model call, so the count is a
 * lower bound. `session`: it has the total since the session began. `quota`: the total is in `_meta.quota`. `chunks`:
 * every model call ends with an empty chunk that has it in `_meta.usage`. `none`: not reported.
 */
export type UsageStyle = "turn" | "last_call" | "session" | "quota" | "chunks" | "none";

const count = z.number().nullish().catch(null);
const tokensSchema = z.object({
  inputTokens: count,
  outputTokens: count,
  cachedReadTokens: count,
  cachedWriteTokens: count,
});
const answerSchema = z.object({ usage: tokensSchema }).transform((answer) => fromTokens(answer.usage));
const quotaSchema = z
  .object({
    _meta: z.object({ quota: z.object({ token_count: z.object({ input_tokens: count, output_tokens: count }) }) }),
  })
  .transform(({ _meta }) => ({
    ...nothing,
    input: _meta.quota.token_count.input_tokens ?? 0,
    output: _meta.quota.token_count.output_tokens ?? 0,
  }));

const nothing: Usage = { input: 0, cache_read: 0, cache_write: 0, output: 0, cost: null };

/** Counts the usage of one conversation. The totals of a `resumed` one start at an unknown value. */
export class UsageMeter {
  readonly #style: UsageStyle;
  #sessionTotal: Usage | null;
  #chunks: Usage | null = null;
  #cost: number | null = null;
  #costBefore: number | null;

  constructor(style: UsageStyle, resumed: boolean) {
    this.#style = style;
    this.#sessionTotal = resumed ? null : nothing;
    this.#costBefore = resumed ? null : 0;
  }

  /** The metadata of a message chunk. */
  chunk(meta: unknown): void {
    if (this.#style !== "chunks") return;
    const usage = withoutCached(answerSchema.safeParse(meta).data ?? null);
    if (usage !== null) this.#chunks = combine(this.#chunks ?? nothing, usage, 1);
  }

  /** The session's total cost so far, from agents that report prices. */
  sessionCost(cost: { amount: number; currency: string }): void {
    if (cost.currency.toUpperCase() === "USD") this.#cost = cost.amount;
  }

  /** The usage of the turn that ends with this answer, or null if the agent does not report it. */
  endTurn(answer: unknown): Usage | null {
    const tokens = this.#tokens(answer);
    const cost = this.#cost === null || this.#costBefore === null ? null : Math.max(0, this.#cost - this.#costBefore);
    this.#costBefore = this.#cost ?? this.#costBefore;
    this.#chunks = null;
    if (tokens === null) return cost === null || cost === 0 ? null : { ...nothing, cost };
    return { ...tokens, cost };
  }

  #tokens(answer: unknown): Usage | null {
    switch (this.#style) {
      case "none":
        return null;
      case "chunks":
        return this.#chunks;
      case "quota":
        return quotaSchema.safeParse(answer).data ?? null;
      case "turn":
      case "last_call":
        return answerSchema.safeParse(answer).data ?? null;
      case "session": {
        const total = withoutCached(answerSchema.safeParse(answer).data ?? null);
        const before = this.#sessionTotal;
        this.#sessionTotal = total ?? before;
        return total === null || before === null ? null : combine(total, before, -1);
      }
    }
  }
}

function fromTokens(tokens: z.infer<typeof tokensSchema>): Usage {
  return {
    input: tokens.inputTokens ?? 0,
    cache_read: tokens.cachedReadTokens ?? 0,
    cache_write: tokens.cachedWriteTokens ?? 0,
    output: tokens.outputTokens ?? 0,
    cost: null,
  };
}

/** For agents that also count cached tokens as input. */
function withoutCached(usage: Usage | null): Usage | null {
  return usage && { ...usage, input: Math.max(0, usage.input - usage.cache_read) };
}

function combine(a: Usage, b: Usage, sign: 1 | -1): Usage {
  const sum = (x: number, y: number) => Math.max(0, x + sign * y);
  return {
    input: sum(a.input, b.input),
    cache_read: sum(a.cache_read, b.cache_read),
    cache_write: sum(a.cache_write, b.cache_write),
    output: sum(a.output, b.output),
    cost: null,
  };
}
