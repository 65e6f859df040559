import { newId } from "@aegis/contract/ids.ts";
import type { Attempt } from "@aegis/contract/task.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkBudget, windowMs } from "../../src/queues/budgets.ts";

const hour = 3_600_000;
const budget = { usd: 1, window: "1h" };
const nothing = { ended: [], running: [], recent: [] };

function attempt(ended_at: number | null, cost: number | null, output_tokens: number | null = 10): Attempt {
  const ids = { task: newId("tsk", 1), worker: newId("ses", 1) };
  return { ...ids, queue: "q", number: 1, started_at: 0, ended_at, error: null, output_tokens, cost };
}

describe("a budget", () => {
  it("counts what ended within its window, and says when enough of it has left", () => {
    const now = 10 * hour;
    const ended = [attempt(now - hour, 5), attempt(now - hour + 1, 0.5), attempt(now - 100, 0.4), attempt(now, 0.2)];
    expect(checkBudget(budget, { ...nothing, ended }, now)).toMatchObject({
      constraint: "usd",
      limit: 1,
      allowed: false,
      unknown: 0,
      unblock_at: now + 1,
    });
    const later = checkBudget(budget, { ...nothing, ended }, now + 1);
    expect(later).toMatchObject({ allowed: true, unblock_at: null });
    expect(later.spent).toBeCloseTo(0.6);
  });

  it("holds for tasks in progress what tasks of the queue usually need, or what they have used already", () => {
    const recent = [attempt(1, 0.2), attempt(1, 0.4), attempt(1, null)];
    const running = [
      { cost: 0, output_tokens: 0 },
      { cost: 0.6, output_tokens: 0 },
    ];
    const check = checkBudget(budget, { ended: [], running, recent }, hour);
    expect(check.reserved).toBeCloseTo(0.9);
    expect(check.allowed).toBe(true);
    expect(checkBudget({ ...budget, usd: 0.9 }, { ended: [], running, recent }, hour).allowed).toBe(false);
  });

  it("lets one task run alone while the cost of a task is unknown", () => {
    expect(checkBudget(budget, nothing, 0)).toMatchObject({ allowed: true, reserved: 0 });
    const one = { ...nothing, running: [{ cost: 0, output_tokens: 0 }] };
    expect(checkBudget(budget, one, 0)).toMatchObject({ allowed: false, reserved: null, unblock_at: null });
  });

  it("never takes what is unknown for nothing", () => {
    const ended = [attempt(5, null, 100), attempt(6, 0.3, null)];
    const spending = { ended, running: [], recent: ended };
    expect(checkBudget(budget, spending, 10)).toMatchObject({ spent: 0.3, unknown: 1, allowed: true });
    expect(checkBudget({ output_tokens: 100, window: "1h" }, spending, 10)).toMatchObject({
      constraint: "output_tokens",
      spent: 100,
      unknown: 1,
      allowed: false,
      unblock_at: 5 + hour,
    });
  });

  it("is allowed again exactly when it says so", () => {
    const times = fc.array(fc.record({ at: fc.nat(2 * hour), cost: fc.double({ min: 0, max: 2, noNaN: true }) }));
    fc.assert(
      fc.property(times, (spent) => {
        const now = 2 * hour;
        const ended = spent.sort((a, b) => a.at - b.at).map(({ at, cost }) => attempt(at, cost));
        const { allowed, unblock_at } = checkBudget(budget, { ...nothing, ended }, now);
        if (allowed || unblock_at === null) return;
        expect(unblock_at).toBeGreaterThan(now);
        expect(checkBudget(budget, { ...nothing, ended }, unblock_at).allowed).toBe(true);
        expect(checkBudget(budget, { ...nothing, ended }, unblock_at - 1).allowed).toBe(false);
      }),
    );
  });

  it("reads its window", () => {
    expect(["90m", "2h", "1d", "3w"].map(windowMs)).toEqual([90 * 60_000, 2 * hour, 24 * hour, 21 * 24 * hour]);
  });
});
