/** Reads the usage of a queue's tasks from the store. */
import type { SessionId } from "../../contract/ids.ts";
import type { Budget, BudgetCheck } from "../../contract/task.ts";
import type { Usage } from "../../contract/turn.ts";
import type { TaskReads, TurnReads } from "../../store/store.ts";
import { checkBudget, longestWindowMs, type Spending, type Used } from "./budgets.ts";

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
