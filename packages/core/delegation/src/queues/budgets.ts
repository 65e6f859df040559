/** Computes what a queue's budgets allow from the recorded usage of its tasks. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Attempt, Budget, BudgetCheck } from "@aegis/contract/task.ts";
import type { Usage } from "@aegis/contract/turn.ts";
import type { TaskReads, TurnReads } from "@aegis/store/store.ts";

/** What an attempt has used so far, as far as known. */
type Used = { output_tokens: number; cost: number };

type Spending = {
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

function longestWindowMs(budgets: readonly Budget[]): number {
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

/** Works on committed data and inside a transaction. */
type From = { readonly tasks: TaskReads; readonly turns: TurnReads };

/** The number of attempts from which the usual usage is estimated. */
const recentTries = 20;
const mostTurns = 1_000;

export async function checkBudgets(
  from: From,
  queue: string,
  budgets: readonly Budget[],
  now: number,
): Promise<BudgetCheck[]> {
  if (budgets.length === 0) return [];
  const spending = await readSpending(from, queue, now - longestWindowMs(budgets));
  return budgets.map((budget) => checkBudget(budget, spending, now));
}

/** The usage of a worker; null where its harness did not report all of it. */
export async function usageOfWorker(
  from: From,
  worker: SessionId,
): Promise<{ output_tokens: number | null; cost: number | null }> {
  const usages = await usagesOf(from, worker);
  return {
    output_tokens: usages.includes(null) ? null : known(usages).output_tokens,
    cost: usages.some((usage) => usage === null || usage.cost === null) ? null : known(usages).cost,
  };
}

async function readSpending(from: From, queue: string, since: number): Promise<Spending> {
  const attempts = await from.tasks.attemptsSince(queue, since);
  const running: Used[] = [];
  for (const attempt of attempts) {
    if (attempt.ended_at === null) running.push(known(await usagesOf(from, attempt.worker)));
  }
  return {
    ended: attempts.filter((attempt) => attempt.ended_at !== null),
    running,
    recent: await from.tasks.recentAttempts(queue, recentTries),
  };
}

/** The usage of each turn, including what the current one has reported so far. */
async function usagesOf(from: From, worker: SessionId): Promise<(Usage | null)[]> {
  return (await from.turns.list(worker, mostTurns)).map((turn) => turn.usage);
}

function known(usages: readonly (Usage | null)[]): Used {
  return {
    output_tokens: usages.reduce((sum, usage) => sum + (usage?.output ?? 0), 0),
    cost: usages.reduce((sum, usage) => sum + (usage?.cost ?? 0), 0),
  };
}
