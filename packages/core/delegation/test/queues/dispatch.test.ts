import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TaskId } from "@aegis/contract/ids.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { completed, eventsOfType, said } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failed, give, line, producer, settings, used } from "./line.ts";

describe("a queue", () => {
  it("starts tasks in order, as many at once as it may, each in a fresh session", async () => {
    const work = await line({ max_parallel: 2 });
    const ids: TaskId[] = [];
    for (const name of ["a", "b", "c", "d"]) ids.push(await work.put(name));
    await waitUntil("two run", () => work.atWork().length === 2);
    expect(work.atWork().toSorted()).toEqual(["a", "b"]);
    expect((await work.runtime.queues.queue("work")).tasks).toMatchObject({ dispatched: 2, pending: 2 });
    const places = await Promise.all(ids.map(async (id) => (await work.runtime.queues.task(id)).task.queued_position));
    expect(places).toEqual([null, null, 1, 2]);
    work.finish("b");
    await waitUntil("the next runs", () => work.atWork().length === 2 && work.atWork().includes("c"));
    for (const name of ["a", "c", "d"]) work.finish(name);
    const done = await Promise.all(ids.map((id) => work.is(id, "completed")));
    expect(done.map((task) => task.result)).toEqual(["did a", "did b", "did c", "did d"]);
    expect(work.begun.toSorted()).toEqual(["a", "b", "c", "d"]);
    expect(new Set(done.map((task) => task.worker)).size).toBe(4);
    await waitUntil(
      "the workers are closed",
      async () => (await work.runtime.sessions.list({ closed: false, client: "x" })).length === 0,
    );
    const [worker] = await work.runtime.sessions.list({ closed: true, client: "x" });
    expect(worker?.title).toBe("d");
  });

  it("never runs more than it may and keeps the order, whatever ends when", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.constantFrom("put", "finish", "cancel", "pause", "resume"), { minLength: 5, maxLength: 25 }),
        fc.infiniteStream(fc.nat(1_000)),
        async (max_parallel, steps, picks) => {
          const work = await line({ max_parallel });
          const pick = <T>(from: readonly T[]): T | undefined => from[Number(picks.next().value) % from.length];
          let most = 0;
          const look = () => {
            most = Math.max(most, work.atWork().length);
          };
          const ids: TaskId[] = [];
          const cancelled = new Set<string>();
          for (const step of steps) {
            look();
            if (step === "put") ids.push(await work.put(`task ${ids.length}`));
            if (step === "finish") work.finish(pick(work.atWork()) ?? "nobody");
            if (step === "pause") await work.runtime.queues.pause("work");
            if (step === "resume") await work.runtime.queues.resume("work");
            const victim = step === "cancel" ? pick(ids) : undefined;
            if (victim !== undefined) {
              cancelled.add(`task ${ids.indexOf(victim)}`);
              await work.runtime.queues.cancel(victim);
            }
            look();
          }
          await work.runtime.queues.resume("work");
          await waitUntil("all tasks are over", async () => {
            look();
            for (const payload of work.atWork()) work.finish(payload);
            const { tasks } = await work.runtime.queues.queue("work");
            return tasks.pending + tasks.dispatched === 0;
          });
          expect(most).toBeLessThanOrEqual(max_parallel);
          const dispatched = await eventsOfType(work.runtime.store, "task.dispatched");
          const order = dispatched.map((event) => ids.indexOf(event.data.task));
          expect(order).toEqual(order.toSorted((a, b) => a - b));
          expect(
            ids.map((_, n) => `task ${n}`).filter((name) => !work.begun.includes(name) && !cancelled.has(name)),
          ).toEqual([]);
          expect(await eventsOfType(work.runtime.store, "task.ended")).toHaveLength(ids.length);
          await work.runtime.stop();
        },
      ),
      { numRuns: 15 },
    );
  });

  it("gives a place away only when the worker that had it is gone", async () => {
    const work = await line({}, { clock: fakeClock(1_000) });
    const [first, next] = [await work.put("stubborn a"), await work.put("b")];
    await waitUntil("the first runs", () => work.atWork().length === 1);
    await work.runtime.queues.cancel(first);
    await work.runtime.queues.resume("work");
    expect((await work.task(first)).status).toBe("cancelled");
    expect((await work.task(next)).status).toBe("pending");
    work.finish("stubborn a");
    await waitUntil("the next runs", () => work.atWork()[0] === "b");
  });

  it("says 0 for a task that was started at once, else its place", async () => {
    const work = await line();
    const first = await work.runtime.queues.enqueue({ queue: "work", payload: "a", producer: null, callback: false });
    const second = await work.runtime.queues.enqueue({ queue: "work", payload: "b", producer: null, callback: false });
    expect([first.queued_position, second.queued_position]).toEqual([0, 1]);
    await waitUntil("the first runs", () => work.atWork().length === 1);
  });

  it("takes a task with the same key once, and refuses the key for another", async () => {
    const work = await line();
    const id = "tsk_0123456789abcdefghjkmnpqrs" as TaskId;
    const give = (payload: string) =>
      work.runtime.queues.enqueue({ id, queue: "work", payload, producer: null, callback: false });
    const answers = await Promise.all([give("same"), give("same"), give("same")]);
    expect(answers.map((answer) => answer.duplicate).sort()).toEqual([false, true, true]);
    await expect(give("other")).rejects.toMatchObject({ code: "conflict" });
    expect(await eventsOfType(work.runtime.store, "task.enqueued")).toHaveLength(1);
    await waitUntil("it runs", () => work.atWork().length === 1);
  });

  it("that does not exist is refused with the nearest name and all there are", async () => {
    const work = await line();
    await expect(work.put("a", "wrk")).rejects.toMatchObject({
      code: "not_found",
      message: 'no queue "wrk" (did you mean "work"?)',
      hint: "queues here: work",
    });
    await expect(work.put("  ")).rejects.toMatchObject({ code: "invalid" });
    await expect(work.put("x".repeat(9 * 1024 * 1024))).rejects.toMatchObject({ code: "too_large" });
  });

  it("is paused over a restart, and starts nothing until it is resumed", async () => {
    const work = await line();
    await work.runtime.queues.pause("work");
    const id = await work.put("a");
    await work.runtime.stop();
    const again = await line({}, { dir: work.dir });
    expect(await again.runtime.queues.queue("work")).toMatchObject({ paused: true, source: "added" });
    expect((await again.task(id)).status).toBe("pending");
    await again.runtime.queues.resume("work");
    again.finish("a");
    await again.is(id, "completed");
    const types = ["queue.added", "queue.paused", "queue.resumed"] as const;
    for (const type of types) expect(await eventsOfType(again.runtime.store, type)).toHaveLength(1);
  });

  it("is removed only without tasks, or with all of them cancelled", async () => {
    const work = await line();
    const ids = [await work.put("a"), await work.put("b")];
    await waitUntil("the first runs", () => work.atWork().length === 1);
    await expect(work.runtime.queues.remove("work", { force: false })).rejects.toMatchObject({ code: "conflict" });
    expect((await work.runtime.queues.remove("work", { force: true })).sort()).toEqual(ids.toSorted());
    for (const id of ids) await work.is(id, "cancelled");
    expect(await work.runtime.queues.list()).toEqual([]);
    await expect(work.runtime.queues.add("work", settings({ agent: "nobody" }))).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("drains: true when nothing is left, false when the time is over first", async () => {
    const clock = fakeClock(1_000);
    const work = await line({}, { clock });
    const { signal } = new AbortController();
    expect(await work.runtime.queues.drain("work", { signal })).toBe(true);
    const id = await work.put("a");
    const tooShort = work.runtime.queues.drain("work", { signal, timeoutMs: 5_000 });
    await clock.advance(5_000);
    expect(await tooShort).toBe(false);
    const drained = work.runtime.queues.drain("work", { signal, timeoutMs: 60_000 });
    await waitUntil("it runs", () => work.atWork().length === 1);
    work.finish("a");
    expect(await drained).toBe(true);
    await work.is(id, "completed");
  });
});

describe("a failed task", () => {
  it("is tried again after a while that grows, then fails for good and can be put back", async () => {
    const clock = fakeClock(1_000);
    const work = await line({ retries: 2 }, { clock });
    const id = await work.put("a");
    for (const attempt of [1, 2, 3]) {
      await waitUntil(`try ${attempt} runs`, async () => {
        await clock.advance(attempt === 1 ? 0 : 2_000);
        return work.begun.length === attempt && work.atWork().length === 1;
      });
      work.finish("a", said(`words ${attempt}`), failed(`error ${attempt}`));
      await waitUntil("the try has ended", async () => (await work.task(id)).failures === attempt);
    }
    expect(await work.task(id)).toMatchObject({ status: "failed", error: "error 3", result: "words 3", attempts: 3 });
    const waits = (await eventsOfType(work.runtime.store, "task.requeued")).map(
      (event) => (event.data.not_before ?? 0) - event.at,
    );
    expect(waits[0]).toBeGreaterThanOrEqual(500);
    expect(waits[0]).toBeLessThanOrEqual(1_000);
    expect(waits[1]).toBeGreaterThanOrEqual(1_000);
    expect(waits[1]).toBeLessThanOrEqual(2_000);
    const { attempts } = await work.runtime.queues.task(id);
    expect(attempts.map((one) => [one.number, one.error])).toEqual([
      [1, "error 1"],
      [2, "error 2"],
      [3, "error 3"],
    ]);
    expect((await work.runtime.queues.tasks({ status: "failed", limit: 10 })).map((task) => task.id)).toEqual([id]);
    await work.runtime.queues.retry(id);
    work.finish("a");
    expect(await work.is(id, "completed")).toMatchObject({ result: "did a", error: null, failures: 0 });
    await expect(work.runtime.queues.retry(id)).rejects.toMatchObject({ code: "conflict" });
  });

  it("lets others pass while it waits", async () => {
    const clock = fakeClock(1_000);
    const work = await line({ retries: 1 }, { clock });
    const [first, second] = [await work.put("a"), await work.put("b")];
    await waitUntil("the first runs", () => work.atWork()[0] === "a");
    work.finish("a", failed("no luck"));
    await waitUntil("the second runs", () => work.atWork()[0] === "b");
    work.finish("b");
    await work.is(second, "completed");
    expect((await work.task(first)).status).toBe("pending");
    await clock.advance(1_000);
    work.finish("a");
    await work.is(first, "completed");
  });

  it("keeps its place in the tree's budget, however often others are tried again, and frees it after a day", async () => {
    const clock = fakeClock(1_000);
    const dir = await memoryDir();
    await writeFile(join(dir, ".aegis.yaml"), "subagents: { budget: { spawns: 3 } }\n");
    const work = await line({ retries: 2 }, { clock, dir });
    const lead = await producer(work);
    const tasks = [await give(work, lead, "dies"), await give(work, lead, "b"), await give(work, lead, "c")];
    await expect(give(work, lead, "d")).rejects.toThrow("used up its budget: 3 of 3 agents");
    const next = (payload: string) =>
      waitUntil(`${payload} runs`, async () => {
        // The others have run when it is tried again.
        if (payload === "dies" && work.begun.includes("c")) await clock.advance(2_000);
        return work.atWork()[0] === payload;
      });
    for (const payload of ["dies", "b", "c", "dies", "dies"]) {
      await next(payload);
      work.finish(payload, ...(payload === "dies" ? [failed("no luck")] : []));
      await waitUntil("it has ended", () => work.atWork().length === 0);
    }
    expect(await work.is(tasks[0] as TaskId, "failed")).toMatchObject({ attempts: 3, error: "no luck" });
    for (const id of tasks.slice(1)) expect(await work.is(id, "completed")).toMatchObject({ attempts: 1 });
    await expect(give(work, lead, "d")).rejects.toThrow("used up its budget: 3 of 3 agents");
    await clock.advance(24 * 3_600_000);
    const late = await give(work, lead, "d");
    await next("d");
    work.finish("d");
    await work.is(late, "completed");
  });

  it("ends with its own error where it may not be tried again", async () => {
    const clock = fakeClock(1_000);
    const dir = await memoryDir();
    await writeFile(join(dir, ".aegis.yaml"), "subagents: { budget: { output_tokens: 5 } }\n");
    const work = await line({ retries: 2 }, { clock, dir });
    const id = await give(work, await producer(work), "a");
    await waitUntil("it runs", () => work.atWork().length === 1);
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 9, cost: null };
    work.finish("a", said("last words"), {
      type: "turn.ended",
      reason: "failed",
      error: { code: "model", message: "no luck" },
      usage,
    });
    await waitUntil("it is refused", async () => {
      await clock.advance(2_000);
      return (await work.task(id)).status === "failed";
    });
    const { error, result, attempts } = await work.task(id);
    expect({ error, result, attempts }).toEqual({
      error: expect.stringMatching(/^no luck; it is not tried again: refused: .*9 of 5 output tokens/),
      result: "last words",
      attempts: 1,
    });
  });

  it("is not tried again when the next try would meet the same wall", async () => {
    const work = await line({ retries: 5 });
    const id = await work.put("a");
    await waitUntil("it runs", () => work.atWork().length === 1);
    work.finish("a", failed("claude is not installed", "not_installed"));
    expect(await work.is(id, "failed")).toMatchObject({ attempts: 1, error: "claude is not installed" });
  });

  it("times out even when its worker hangs, keeps its last words, and frees its place", async () => {
    const clock = fakeClock(1_000);
    const work = await line({ timeout: 60 }, { clock });
    const [hung, next] = [await work.put("a"), await work.put("b")];
    await waitUntil("it runs", () => work.atWork()[0] === "a");
    await clock.advance(59_000);
    expect((await work.task(hung)).status).toBe("dispatched");
    await clock.advance(1_000);
    expect(await work.is(hung, "failed")).toMatchObject({ error: "timed out after 60s" });
    await waitUntil("the next runs", () => work.atWork()[0] === "b");
    work.finish("b");
    await work.is(next, "completed");
  });
});

describe("budgets", () => {
  it("hold tasks back until the window allows them, and say so", async () => {
    const clock = fakeClock(1_000_000);
    const work = await line({ max_parallel: 3, budgets: [{ output_tokens: 100, window: "1h" }] }, { clock });
    const ids = [await work.put("a"), await work.put("b"), await work.put("c")];
    await waitUntil("one runs", () => work.atWork().length === 1);
    // The cost of a task is not known yet, so the first runs alone.
    expect(work.atWork()).toEqual(["a"]);
    expect(await work.runtime.queues.queue("work")).toMatchObject({
      blocked_by: [{ reserved: null, spent: 0, allowed: false }],
      unblock_at: null,
    });
    work.finish("a", said("first"), used(60, null));
    await waitUntil("the next runs", () => work.atWork()[0] === "b");
    // 60 are spent and the one in progress will need about 60: the third has to wait.
    expect(await work.runtime.queues.queue("work")).toMatchObject({
      budgets: [{ spent: 60, reserved: 60, allowed: false }],
      tasks: { dispatched: 1, pending: 1 },
    });
    work.finish("b", said("second"), used(50, null));
    await work.is(ids[1] as TaskId, "completed");
    const endedAt = (await work.task(ids[0] as TaskId)).ended_at ?? 0;
    await waitUntil("the queue waits for the window", async () => {
      const { blocked_by, unblock_at } = await work.runtime.queues.queue("work");
      return blocked_by[0]?.spent === 110 && unblock_at === endedAt + 3_600_000;
    });
    await clock.advance(3_599_000);
    expect((await work.task(ids[2] as TaskId)).status).toBe("pending");
    await clock.advance(1_000);
    work.finish("c");
    await work.is(ids[2] as TaskId, "completed");
  });

  it("report tries of unknown cost instead of counting them as free", async () => {
    const work = await line({ max_parallel: 2, budgets: [{ usd: 1, window: "1d" }] });
    const [first, second] = [await work.put("a"), await work.put("b")];
    work.finish("a", said("done"), used(5, null));
    work.finish("b", said("done"), completed);
    await work.is(first, "completed");
    await work.is(second, "completed");
    expect(await work.runtime.queues.queue("work")).toMatchObject({ budgets: [{ spent: 0, unknown: 2 }] });
    const { attempts } = await work.runtime.queues.task(first);
    expect(attempts[0]).toMatchObject({ output_tokens: 5, cost: null });
  });
});
