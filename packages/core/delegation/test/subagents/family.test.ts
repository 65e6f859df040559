import { eventsOfType } from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { forest } from "./forest.ts";

const answer = (output: string): unknown => JSON.parse(output);

describe("sessions_send", () => {
  it("gives the reply of a running subagent, by run id, label or path", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const below = await f.spawn(child.session, { label: "below" });
    for (const [to, session] of [
      [child.run_id, child.session],
      ["child", child.session],
      ["child/below", below.session],
    ] as const) {
      const sent = f.call(root, "sessions_send", { run_id_or_label: to, message: `hi ${to}` });
      await f.say(session, "busy with the task");
      await waitUntil("it reads the message", async () => (await f.turnOf(session)).prompt.text.includes(`hi ${to}`));
      // The asked session continues to work, so that the next question finds it running.
      await f.runtime.inbox.admit({ session, sender: { kind: "human" }, body: "go on" });
      await f.say(session, `hello to ${to}`);
      expect(answer((await sent).output)).toMatchObject({ status: "replied", reply: `hello to ${to}` });
    }
  });

  it("says after a timeout that the message was admitted, and a repeated call adds nothing", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const input = { run_id_or_label: "child", message: "are you there?", timeout: 0.05 };
    const first = await f.call(root, "sessions_send", input, "send");
    expect(answer(first.output)).toMatchObject({ status: "timeout", admitted: true });
    await f.call(root, "sessions_send", input, "send");
    const sameText = await f.call(root, "sessions_send", input, "another call");
    expect(sameText).toEqual(first);
    const messages = await f.runtime.store.read.messages.list(child.session);
    expect(messages.filter((one) => one.body === input.message)).toHaveLength(1);
  });

  it("refuses who has ended, who is not the caller's own, and who does not exist", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    await f.spawn(child.session, { label: "below" });
    const send = async (from: typeof root, to: string) =>
      (await f.call(from, "sessions_send", { run_id_or_label: to, message: "hi", timeout: 1 })).output;
    expect(await send(child.session, child.run_id)).toContain("you have no subagent");
    expect(await send(root, "chidl")).toContain('did you mean "child"?');
    await f.call(root, "sessions_kill", { run_id: "child" });
    expect(await send(root, "child")).toContain("has ended (killed)");
  });

  it("tells when the subagent is ended before it could answer", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const sent = f.call(root, "sessions_send", { run_id_or_label: "child", message: "hi" });
    await waitUntil(
      "the message waits",
      async () => (await f.runtime.store.read.messages.countPending(child.session)) > 0,
    );
    await f.runtime.subagents.killRun(child.run_id);
    expect(await sent).toMatchObject({ is_error: true });
    expect(await f.announcements(root)).toHaveLength(1);
  });
});

describe("sessions_kill", () => {
  it("ends everything below too, tells how many, and does nothing the second time", async () => {
    const f = await forest({ config: "subagents: { max_spawn_depth: 3 }\n" });
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const one = await f.spawn(child.session);
    const two = await f.spawn(one.session);
    const other = await f.spawn(root, { label: "other" });
    const killed = await f.call(root, "sessions_kill", { run_id: child.run_id });
    expect(answer(killed.output)).toEqual({ run_id: child.run_id, label: "child", status: "killed", killed: 3 });
    for (const { run_id, session } of [child, one, two]) {
      expect((await f.row(run_id)).status).toBe("killed");
      expect((await f.runtime.store.read.sessions.get(session))?.state).toBe("closed");
      expect(f.isWorking(session)).toBe(false);
    }
    expect((await f.row(other.run_id)).status).toBe("running");
    const again = await f.call(root, "sessions_kill", { run_id: child.run_id });
    expect(answer(again.output)).toMatchObject({ status: "killed", killed: 0 });
    // The answer told the parent: a message would tell it twice.
    expect(await f.announcements(root)).toEqual([]);
  });

  it("by a person is announced to the parent, and one's own parent cannot be ended", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const below = await f.spawn(child.session, { label: "below" });
    expect((await f.call(below.session, "sessions_kill", { run_id: child.run_id })).is_error).toBe(true);
    expect(await f.runtime.subagents.killRun(child.run_id)).toMatchObject({ killed: 2 });
    expect(await f.announcements(root)).toEqual(['[Subagent Complete] "child" (killed). Result: killed by a person']);
  });
});

describe("a result finds its reader", () => {
  it("further up when the parent is closed, and only to the log when no ancestor is open", async () => {
    const f = await forest({ config: "subagents: { max_spawn_depth: 3 }\n" });
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    await f.runtime.sessions.close(root, "by a person");
    await f.say(child.session, "too late");
    expect(await f.ended(child.run_id)).toMatchObject({ status: "done", announced_to: null, announcement: null });
    const [ended] = await eventsOfType(f.runtime.store, "subagent.ended");
    expect(ended?.data).toMatchObject({ result: "too late", announced_to: null });
  });

  it("further up when the parent ended without having read it", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const below = await f.spawn(child.session, { label: "below" });
    await f.say(below.session, "found it");
    await f.ended(below.run_id);
    expect(await f.announcements(child.session)).toHaveLength(1);
    await f.runtime.subagents.killRun(child.run_id);
    await waitUntil("the result is passed on", async () => (await f.announcements(root)).length === 2);
    expect((await f.announcements(root)).toSorted()).toEqual([
      '[Subagent Complete] "below" (done). Result: found it',
      '[Subagent Complete] "child" (killed). Result: killed by a person',
    ]);
    expect(await f.row(below.run_id)).toMatchObject({ announced_to: root });
  });

  it("when its session is closed by somebody: it counts as killed", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const below = await f.spawn(child.session);
    await f.runtime.sessions.close(child.session, "by a person");
    expect(await f.ended(child.run_id)).toMatchObject({ status: "killed", error: "its session was closed" });
    expect((await f.row(below.run_id)).status).toBe("killed");
    expect(await f.announcements(root)).toHaveLength(1);
  });
});

describe("looking at subagents", () => {
  it("lists those below, by status, and forgets what was to be deleted", async () => {
    const f = await forest();
    const root = await f.root();
    const kept = await f.spawn(root, { label: "kept" });
    const gone = await f.spawn(root, { label: "gone", cleanup: "delete" });
    await f.spawn(kept.session, { label: "below" });
    const list = async (input = {}) =>
      (answer((await f.call(root, "sessions_list", input)).output) as { label: string }[]).map((row) => row.label);
    expect(await list()).toEqual(["kept", "gone", "kept/below"]);
    await f.say(gone.session, "bye");
    await f.ended(gone.run_id);
    expect(await list()).toEqual(["kept", "kept/below"]);
    expect(await list({ status_filter: "done" })).toEqual([]);
    expect((await f.runtime.store.read.sessions.get(gone.session))?.state).toBe("closed");
  });

  it("shows a history of at most 10,000 characters, the newest", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child", task: "write a lot" });
    const short = await f.call(root, "sessions_history", { run_id: "child" });
    expect(short.output).toBe("user: write a lot");
    await f.say(child.session, `${"x".repeat(30_000)} the end`);
    await f.ended(child.run_id);
    const { output } = await f.call(root, "sessions_history", { run_id: child.run_id });
    expect(output).toHaveLength(10_000);
    expect(output).toMatch(/^\[older part cut\]\n[\s\S]*the end$/);
    expect((await f.announcements(root))[0]?.length).toBeLessThan(21_000);
  });

  it("takes them off the list and closes them when their time to live is over", async () => {
    const f = await forest({ config: "subagents: { session_ttl_minutes: 0.0001 }\n" });
    const root = await f.root();
    const child = await f.spawn(root);
    await f.say(child.session, "ok");
    await f.ended(child.run_id);
    expect((await f.runtime.store.read.sessions.get(child.session))?.state).not.toBe("closed");
    await waitUntil("it is swept", async () => (await f.runtime.subagents.sweep()) === 1);
    expect((await f.row(child.run_id)).archived_at).not.toBeNull();
    expect((await f.runtime.store.read.sessions.get(child.session))?.state).toBe("closed");
    expect(await f.runtime.subagents.sweep()).toBe(0);
  });
});

describe("a queue's worker", () => {
  it("is not done while its subagents are at work", async () => {
    const f = await forest();
    const { queues, store } = f.runtime;
    await queues.add("q", {
      agent: "offline",
      max_parallel: 1,
      retries: 0,
      timeout: null,
      on_crash: "fail",
      budgets: [],
    });
    await queues.start();
    const { task } = await queues.enqueue({ queue: "q", payload: "divide it", producer: null, callback: false });
    await waitUntil("a worker has it", async () => (await store.read.tasks.get(task.id))?.worker !== null);
    const worker = (await store.read.tasks.get(task.id))?.worker;
    if (!worker) throw new Error("no worker");
    const child = await f.spawn(worker, { label: "half" });
    await f.say(worker, "waiting");
    await waitUntil("the task is deferred", async () => (await eventsOfType(store, "task.deferred")).length > 0);
    const [deferred] = await eventsOfType(store, "task.deferred");
    expect(deferred?.data.waiting_on).toEqual(['the subagent "half"']);
    await f.say(child.session, "my half");
    expect((await f.turnOf(worker)).prompt.text).toContain("my half");
    await f.say(worker, "both halves");
    await waitUntil("the task has ended", async () => (await store.read.tasks.get(task.id))?.status === "completed");
    expect((await store.read.tasks.get(task.id))?.result).toBe("both halves");
  });
});
