/** Computes what a queue's budgets allow from the recorded usage of its tasks. Pure. */
import type { Attempt, Budget, BudgetCheck } from "../../contract/task.ts";

/** What an attempt has used so far, as far as known. */
export type Used = { output_tokens: number; cost: number };

export type Spending = {
  /** Ended attempts, by time. */
  ended: readonly Attempt[];
  /** The recorded usage of each attempt in progress. */
  running: readonly Used[];
  /** The newest attempts of the queue, used to estimate the next one. */
  recent: readonly Attempt[];
};

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

export function windowMs(window: string): number {
  const unit = unitMs[window.slice(-1) as keyof typeof unitMs];
  return Number(window.slice(0, -1)) * unit;
}

export function longestWindowMs(budgets: readonly Budget[]): number {
  return Math.max(0, ...budgets.map((budget) => windowMs(budget.window)));
}

export function checkBudget(budget: Budget, spending: Spending, now: number): BudgetCheck {
  const constraint = budget.usd === undefined ? "output_tokens" : "usd";
  const field = constraint === "usd" ? "cost" : "output_tokens";
  const limit = budget.usd ?? budget.output_tokens ?? 0;
  const span = windowMs(budget.window);
  const within = spending.ended.filter((attempt) => (attempt.ended_at ?? now) > now - span);
  const spent = sum(within.map((attempt) => attempt[field] ?? 0));
  const reserved = reservation(
    spending.running.map((used) => used[field]),
    mean(spending.recent.flatMap((attempt) => attempt[field] ?? [])),
  );
  return {
    constraint,
    limit,
    window: budget.window,
    spent,
    reserved,
    unknown: within.filter((attempt) => attempt[field] === null).length,
    allowed: reserved !== null && spent + reserved < limit,
    unblock_at: spent < limit ? null : freeAt(within, field, { limit, spent, span }),
  };
}

/**
 * A running task reserves the usual usage of its queue, or what it has used if that is more. Without an estimate it
 * reserves the whole budget, so that at most one task can exceed a budget.
 */
function reservation(running: readonly number[], usual: number | null): number | null {
  if (running.length === 0) return 0;
  return usual === null ? null : sum(running.map((used) => Math.max(used, usual)));
}

/** The time at which enough of the spending has left the window. */
function freeAt(
  within: readonly Attempt[],
  field: "cost" | "output_tokens",
  { limit, spent, span }: { limit: number; spent: number; span: number },
): number | null {
  let left = spent;
  for (const attempt of within) {
    left -= attempt[field] ?? 0;
    if (left < limit) return (attempt.ended_at ?? 0) + span;
  }
  return null;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
