/** The end of a turn: the success, failure and cost in Claude Code's `result`. */
import type { TurnError, TurnReason, Usage } from "@aegis/contract/turn.ts";
import { type JsonFields, listAt, numberAt, objectAt, textAt } from "../cli-harness/fields.ts";
import type { TurnEnded } from "../driver.ts";

/**
 * `subtype` is not reliable: a failed model call ends as `success` with `is_error`, and an interrupted turn may too.
 * `kind` is the CLI's own name of the failure, from the message that it wrote in place of the model.
 */
export function readResult(result: JsonFields, kind: string | null, cost: number | null): TurnEnded {
  const usage = readUsage(objectAt(result, "usage"), cost);
  const terminal = textAt(result, "terminal_reason") ?? "";
  const subtype = textAt(result, "subtype") ?? "";
  const ended = (reason: TurnEnded["reason"], error: TurnError | null = null): TurnEnded => ({
    type: "turn.ended",
    reason,
    error,
    usage,
  });
  if (terminal.startsWith("aborted")) return ended("cancelled");
  if (subtype === "error_max_turns" || subtype === "error_max_budget_usd") return ended("truncated");
  if (result.is_error === true) return ended("failed", classify(result, kind));
  return ended(stopReasons[textAt(result, "stop_reason") ?? ""] ?? "completed");
}

/** The cost of one turn. The CLI reports a running total, so this returns the difference from the last turn. */
export class CostMeter {
  #total: number | null;

  /** A resumed process may start with the cost of the earlier conversation. */
  constructor(resumed: boolean) {
    this.#total = resumed ? null : 0;
  }

  read(result: JsonFields): number | null {
    const total = numberAt(result, "total_cost_usd");
    const before = this.#total;
    if (total === null) return null;
    this.#total = total;
    const models = result.model_usage_since_last_result;
    if (typeof models === "object" && models !== null) {
      return Object.values(models).reduce((sum: number, model) => sum + (numberAt(model, "costUSD") ?? 0), 0);
    }
    return before === null ? null : Math.max(0, total - before);
  }
}

const stopReasons: Record<string, Extract<TurnReason, "refused" | "truncated">> = {
  refusal: "refused",
  max_tokens: "truncated",
  model_context_window_exceeded: "truncated",
};

function readUsage(usage: JsonFields, cost: number | null): Usage {
  return {
    input: numberAt(usage, "input_tokens") ?? 0,
    cache_read: numberAt(usage, "cache_read_input_tokens") ?? 0,
    cache_write: numberAt(usage, "cache_creation_input_tokens") ?? 0,
    output: numberAt(usage, "output_tokens") ?? 0,
    cost,
  };
}

function classify(result: JsonFields, kind: string | null): TurnError {
  const errors = listAt(result, "errors").filter((error) => typeof error === "string");
  const message = textAt(result, "result") || errors.join("\n") || "Claude Code ended the turn with an error.";
  const status = numberAt(result, "api_error_status");
  if (
    kind === "authentication_failed" ||
    status === 401 ||
    status === 403 ||
    /\/login|invalid api key/i.test(message)
  ) {
    return { code: "not_logged_in", message, fix: "Run `claude` and then /login, or set ANTHROPIC_API_KEY." };
  }
  if (kind === "model_not_found" || (status === 404 && /model/i.test(message))) {
    return { code: "bad_model", message, fix: "Set `model` of the agent to one that your account can use." };
  }
  if (kind === "billing_error") return { code: "model", message, fix: "Check the credit of your Anthropic account." };
  if (kind === "rate_limit" || status === 429) return { code: "rate_limited", message };
  if (kind === "overloaded" || status === 529 || status === 503) return { code: "overloaded", message };
  if (status === 413 || /prompt is too long|context (window|limit)/i.test(message)) {
    return { code: "context_overflow", message, fix: "Send /compact to the session, or start a new one." };
  }
  return { code: "model", message };
}
