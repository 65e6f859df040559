import { newId, type SessionId, type TaskId } from "@aegis/contract/ids.ts";
import { defaultMaxHops } from "@aegis/contract/message.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { completed, eventsOfType, said } from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { forest } from "../subagents/forest.ts";
import { failed, give, type Line, line, producer, settings } from "./line.ts";

const stamp = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;

/** The one thing the producer has heard. */
async function told(work: Line): Promise<string> {
  await waitUntil("the producer hears of it", () => work.heard.length > 0);
  expect(await eventsOfType(work.runtime.store, "task.ended")).toHaveLength(1);
  expect(work.heard).toHaveLength(1);
  return work.heard[0] ?? "";
}

async function running(work: Line, payload: string): Promise<void> {
  await waitUntil(`${payload} runs`, () => work.atWork().includes(payload));
}

describe("the producer is told once", () => {
  it("of a result, with the worker's whole last message", async () => {
    const work = await line();
    const id = await give(work, await producer(work), "a");
    await running(work, "a");
    work.finish("a", said("first thoughts", "m1"), said("the answer,", "m2"), said("in two parts", "m2"), completed);
    expect(await told(work)).toMatch(
      new RegExp(`^> from queue:work · task#${id} · ok · ${stamp}\nthe answer,\n\nin two parts$`),
    );
    expect(work.begun).toEqual(["a"]);
    const [end] = await eventsOfType(work.runtime.store, "task.ended");
    expect(end?.data).toMatchObject({ status: "completed", callback: "delivered" });
  });

  it("of a worker that said nothing", async () => {
    const work = await line();
    await give(work, await producer(work), "a");
    await running(work, "a");
    work.finish("a", completed);
    expect(await told(work)).toMatch(/ok · \S+\nthe worker finished without a final message$/);
  });

  it("of a failure, with the worker's last words", async () => {
    const work = await line();
    const id = await give(work, await producer(work), "a");
    await running(work, "a");
    work.finish("a", said("half done"), failed("out of memory"));
    expect(await told(work)).toMatch(
      new RegExp(`task#${id} · error · ${stamp}\nout of memory\n\nThe worker's last message was:\n\nhalf done$`),
    );
  });

  it.each([
    ["a result", completed],
    ["last words", failed("out of memory")],
  ])("of %s with half of a character, which is replaced in the row and in the event", async (_, end) => {
    const work = await line();
    await give(work, await producer(work), "a");
    await running(work, "a");
    work.finish("a", said("a half \ud83d of it"), end);
    expect(await told(work)).toContain("a half \ufffd of it");
    const admitted = await eventsOfType(work.runtime.store, "message.admitted");
    const callback = admitted.findLast(({ data }) => data.message.sender.kind === "queue");
    expect(callback?.data.message.body).toContain("a half \ufffd of it");
  });

  it("of a task cancelled before it began", async () => {
    const work = await line();
    const session = await producer(work);
    await work.put("first");
    const id = await give(work, session, "a");
    await running(work, "first");
    expect(await work.runtime.queues.cancel(id)).toEqual({ ok: true, status: "cancelled", was: "pending" });
    expect(await told(work)).toMatch(/error · \S+\ncancelled \(never dispatched\)$/);
    expect(await work.runtime.queues.cancel(id)).toEqual({ ok: true, status: "cancelled", note: "already terminal" });
    const missing = newId("tsk", 1);
    expect(await work.runtime.queues.cancel(missing)).toEqual({ ok: false, error: `no task ${missing}` });
  });

  it("of a task cancelled in progress, and its worker is stopped", async () => {
    const work = await line();
    const id = await give(work, await producer(work), "a");
    await running(work, "a");
    const worker = (await work.task(id)).worker;
    expect(worker && (await work.runtime.sessions.view(worker, "x")).state).toBe("working");
    expect(await work.runtime.queues.cancel(id)).toMatchObject({ was: "in_flight" });
    expect(await told(work)).toMatch(/error · \S+\ncancelled — the worker had not said anything yet$/);
    await waitUntil("the worker is closed", async () =>
      worker === null ? false : (await work.runtime.sessions.view(worker, "x")).state === "closed",
    );
    expect(work.atWork()).toEqual([]);
  });

  it("of a worker that somebody closed", async () => {
    const work = await line();
    const id = await give(work, await producer(work), "a");
    await running(work, "a");
    const { worker } = await work.task(id);
    if (worker !== null) await work.runtime.sessions.close(worker, "by a person");
    expect(await told(work)).toMatch(/error · \S+\nthe worker's session was closed before it was done$/);
  });

  it("but not when it asked not to be, nor when it is gone", async () => {
    const work = await line({ max_parallel: 2 });
    const session = await producer(work);
    const quiet = await work.runtime.queues.enqueue({
      queue: "work",
      payload: "a",
      producer: session,
      callback: false,
    });
    const loud = await give(work, session, "b");
    await running(work, "b");
    await work.runtime.sessions.close(session, "gone");
    work.finish("a");
    work.finish("b");
    await work.is(quiet.task.id, "completed");
    await work.is(loud, "completed");
    const ends = await eventsOfType(work.runtime.store, "task.ended");
    expect(new Map(ends.map((event) => [event.data.task, event.data.callback]))).toEqual(
      new Map([
        [quiet.task.id, "none"],
        [loud, "dropped"],
      ]),
    );
    expect(work.heard).toEqual([]);
  });
});

describe("a chain of agents", () => {
  it("goes through the worker to the answer, and is refused where it would be too long", async () => {
    const work = await line();
    const session = await producer(work);
    const chain = newId("msg", 1);
    const enqueue = (payload: string, hops: number) =>
      work.runtime.queues.enqueue({
        queue: "work",
        payload,
        producer: session,
        callback: true,
        cause: { chain, hops },
      });
    await expect(enqueue("far", defaultMaxHops - 1)).rejects.toMatchObject({ code: "too_many" });
    await enqueue("a", defaultMaxHops - 2);
    await running(work, "a");
    work.finish("a");
    await told(work);
    const admitted = await eventsOfType(work.runtime.store, "message.admitted");
    expect(admitted.map(({ data }) => [data.message.sender.kind, data.message.chain, data.message.hops])).toEqual([
      ["queue", chain, defaultMaxHops - 1],
      ["queue", chain, defaultMaxHops],
    ]);
  });
});

describe("the end of a turn is not the end of the task", () => {
  it("while a message is unread: the last turn's words are the result", async () => {
    const work = await line();
    const id = await work.put("a");
    await running(work, "a");
    const { worker } = await work.task(id);
    if (worker === null) throw new Error("the task has no worker");
    await work.runtime.inbox.admit({ session: worker, sender: { kind: "human" }, body: "and this" });
    work.finish("a");
    await running(work, "and this");
    expect(await eventsOfType(work.runtime.store, "task.ended")).toEqual([]);
    work.finish("and this", said("both are done"), completed);
    expect(await work.is(id, "completed")).toMatchObject({ result: "both are done", attempts: 1 });
    const deferred = await eventsOfType(work.runtime.store, "task.deferred");
    for (const { data } of deferred) expect(data.waiting_on).toEqual(["1 unread message(s)"]);
  });

  it("while a person has not answered", async () => {
    const work = await line();
    const id = await work.put("a");
    await running(work, "a");
    const { worker } = await work.task(id);
    if (worker === null) throw new Error("the task has no worker");
    const ask = { session: worker, kind: "question", question: "which one?", tool: null, detail: null } as const;
    const answered = work.runtime.asks.ask({ ...ask, options: [] }, new AbortController().signal);
    await waitUntil("the ask is open", async () => (await work.runtime.asks.list({ limit: 1 })).length === 1);
    work.finish("a");
    await waitUntil(
      "the task is deferred",
      async () => (await eventsOfType(work.runtime.store, "task.deferred")).length > 0,
    );
    const [deferred] = await eventsOfType(work.runtime.store, "task.deferred");
    expect(deferred?.data).toMatchObject({ task: id, worker, waiting_on: ["an answer to: which one?"] });
    expect((await work.task(id)).status).toBe("dispatched");
    const [open] = await work.runtime.asks.list({ limit: 1 });
    if (open) await work.runtime.asks.answer(open.id, { choice: null, text: "the second" });
    await answered;
    await work.is(id, "completed");
    expect(await eventsOfType(work.runtime.store, "task.deferred")).toHaveLength(1);
  });
});

it("nor while a subagent of the worker is at work", async () => {
  const team = await forest();
  const { queues, store } = team.runtime;
  await queues.add("work", settings());
  await queues.start();
  const { task } = await queues.enqueue({ queue: "work", payload: "a", producer: null, callback: false });
  await waitUntil("it has a worker", async () => (await queues.task(task.id)).task.worker !== null);
  const worker = (await queues.task(task.id)).task.worker as SessionId;
  const child = await team.spawn(worker, { label: "digger" });
  await team.say(worker, "waiting for digger");
  await waitUntil("it is deferred", async () => (await eventsOfType(store, "task.deferred")).length > 0);
  expect((await eventsOfType(store, "task.deferred"))[0]?.data.waiting_on).toEqual(['the subagent "digger"']);
  await team.say(child.session, "dug");
  await team.say(worker, "all is dug");
  await waitUntil("it is done", async () => (await queues.task(task.id)).task.status === "completed");
  expect((await queues.task(task.id)).task.result).toBe("all is dug");
});

describe("a worker that gave a task itself", () => {
  async function subtask(work: Line): Promise<{ id: TaskId; sub: TaskId }> {
    const id = await work.put("a");
    await running(work, "a");
    const { worker } = await work.task(id);
    if (worker === null) throw new Error("the task has no worker");
    const sub = await give(work, worker, "b");
    work.finish("a");
    return { id, sub };
  }

  it("is not done before it has heard of it", async () => {
    const work = await line({ max_parallel: 2 });
    const { id, sub } = await subtask(work);
    await running(work, "b");
    await waitUntil("it is deferred", async () => (await eventsOfType(work.runtime.store, "task.deferred")).length > 0);
    const [deferred] = await eventsOfType(work.runtime.store, "task.deferred");
    expect(deferred?.data).toMatchObject({ task: id, waiting_on: [`task ${sub} of queue work`] });
    work.finish("b");
    await work.is(id, "completed");
    expect(work.heard).toEqual([expect.stringContaining("did b")]);
  });

  it("does not wait for one that could never start", async () => {
    const work = await line({ max_parallel: 1 });
    const { id, sub } = await subtask(work);
    await work.is(id, "completed");
    await running(work, "b");
    work.finish("b");
    await work.is(sub, "completed");
    const ends = await eventsOfType(work.runtime.store, "task.ended");
    expect(ends.map((event) => event.data.callback)).toEqual(["none", "dropped"]);
  });
});

describe("delegating", () => {
  const { signal } = new AbortController();

  it("waits for the result, without a message", async () => {
    const work = await line();
    const session = await producer(work);
    const waiting = work.runtime.queues.delegate(
      { queue: "work", payload: "a", producer: session, callback: true },
      { signal },
    );
    await running(work, "a");
    work.finish("a");
    expect((await waiting).task).toMatchObject({ status: "completed", result: "did a" });
    expect(work.heard).toEqual([]);
  });

  it("gives up after its time and leaves the worker at work", async () => {
    const clock = fakeClock(1_000);
    const work = await line({}, { clock });
    const session = await producer(work);
    const waiting = work.runtime.queues.delegate(
      { queue: "work", payload: "a", producer: session, callback: false },
      { signal, timeoutMs: 1_000 },
    );
    await running(work, "a");
    await clock.advance(1_000);
    const { id, task } = await waiting;
    expect(task).toBeNull();
    work.finish("a");
    await work.is(id, "completed");
  });

  it("to the queue whose last place one holds is refused", async () => {
    const work = await line();
    const id = await work.put("a");
    await running(work, "a");
    const { worker } = await work.task(id);
    const deadlock = work.runtime.queues.delegate(
      { queue: "work", payload: "b", producer: worker, callback: false },
      { signal },
    );
    await expect(deadlock).rejects.toMatchObject({ code: "conflict", message: /you hold its last place/ });
  });
});
