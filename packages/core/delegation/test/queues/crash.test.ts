// @module-tag slow
import type { Client } from "@aegis/client/client.ts";
import { waitForTask } from "@aegis/client/wait-work.ts";
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Task, TaskView } from "@aegis/contract/task.ts";
import { type Project, testProject } from "@aegis/test/helpers/project.ts";
import { createSession, eventsOf, messages, say, talk } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

function files(queue: string): Record<string, string> {
  return {
    ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  work: ${queue}
`,
    "playbook.yaml": `
rules:
  - name: hear of a task
    from: queue
    when: always
    steps: [{ wait: { gate: gates/hear } }, { say: "heard: {text}" }]
  - name: hold until a gate opens
    when: '/^hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: hang
    when: '/^hang/'
    steps: [{ say: "about to hang" }, { hang: true }]
  - name: enqueue
    when: '/^enqueue (.+)/'
    steps:
      - { tool: aegis_enqueue, input: { queue: work, payload: "{1}" }, save: receipt }
      - say: "{receipt}"
  - name: enqueue, then hold
    when: '/^first enqueue (.+) then hold (\\S+)/'
    steps:
      - { tool: aegis_enqueue, input: { queue: work, payload: "{1}" }, save: receipt }
      - wait: { gate: "gates/{2}" }
      - say: "{receipt}"
  - name: anything else
    when: always
    steps: [{ say: "did {text}" }]
`,
  };
}

async function task(client: Client, id: TaskId): Promise<TaskView> {
  return (await client.call("getTask", { path: { task: id } })).task;
}

async function put(client: Client, payload: string, queue = "work"): Promise<TaskId> {
  return (await client.call("enqueueTask", { path: { queue }, body: { payload } })).task.id;
}

/** Enqueues through the session's agent, as agents do. */
async function give(client: Client, session: SessionId, payload: string): Promise<TaskId> {
  const receipt = JSON.parse(await talk(client, session, `enqueue ${payload}`)) as { task_id: TaskId };
  return receipt.task_id;
}

async function under_way(client: Client, id: TaskId, words: string): Promise<Task> {
  await waitUntil(`a worker says "${words}"`, async () => {
    const { worker } = await task(client, id);
    if (worker === null) return false;
    return (await eventsOf(client, "turn.text", worker)).some((event) => event.data.text === words);
  });
  return task(client, id);
}

async function callbacks(client: Client, session: SessionId): Promise<Message[]> {
  return (await messages(client, session)).filter((message) => message.sender.kind === "queue");
}

async function openSessions(client: Client): Promise<string[]> {
  return (await client.call("listSessions")).sessions.map((session) => session.handle);
}

async function project(queue: string): Promise<Project> {
  return testProject(files(queue));
}

describe("after kill -9", () => {
  it("the task in progress fails as interrupted, waiting ones run in order, and each producer is told once", async () => {
    const at = await project("{ agent: dev }");
    const first = await at.start();
    const session = await createSession(first.client, { handle: "lucid-hertz" });
    const cut = await give(first.client, session.id, "hold one");
    const { worker } = await under_way(first.client, cut, "holding one");
    const next = await give(first.client, session.id, "two");
    const last = await give(first.client, session.id, "three");
    expect((await task(first.client, last)).queued_position).toBe(2);
    await first.kill();

    await at.open("one");
    await at.open("hear");
    const { client } = await at.start();
    for (const id of [next, last]) await waitForTask(client, id);
    expect(await task(client, cut)).toMatchObject({
      status: "failed",
      error: "interrupted: Aegis stopped while the task was running",
      result: "holding one",
      attempts: 1,
    });
    const dispatched = await eventsOf(client, "task.dispatched");
    expect(dispatched.map((event) => event.data.task)).toEqual([cut, next, last]);
    await waitUntil("all are heard", async () =>
      (await callbacks(client, session.id)).every((message) => message.status === "done"),
    );
    const told = await callbacks(client, session.id);
    expect(told.map((message) => [message.sender, message.body])).toEqual([
      [
        { kind: "queue", name: "work", task: cut, status: "error" },
        "interrupted: Aegis stopped while the task was running\n\nThe worker's last message was:\n\nholding one",
      ],
      [{ kind: "queue", name: "work", task: next, status: "ok" }, "did two"],
      [{ kind: "queue", name: "work", task: last, status: "ok" }, "did three"],
    ]);
    expect((await client.call("getSession", { path: { session: worker ?? "" } })).session.state).toBe("closed");
    await waitUntil("only the producer is left", async () => (await openSessions(client)).length === 1);
  });

  it("the task in progress is tried again in a fresh session while it has retries", async () => {
    const at = await project("{ agent: dev, retries: 1 }");
    const first = await at.start();
    const id = await put(first.client, "hold one");
    const waiting = await put(first.client, "two");
    const before = await under_way(first.client, id, "holding one");
    await first.kill();

    const second = await at.start();
    await under_way(second.client, id, "holding one");
    const again = await task(second.client, id);
    expect(again).toMatchObject({ status: "dispatched", attempts: 2, failures: 0 });
    expect(again.worker).not.toBe(before.worker);
    expect((await task(second.client, waiting)).status).toBe("pending");
    await second.kill();

    // A stop of Aegis uses up no retry.
    const third = await at.start();
    await under_way(third.client, id, "holding one");
    await third.kill();
    await at.open("one");
    const { client } = await at.start();
    // The third stop in a row: another task may go first.
    expect(await waitForTask(client, waiting)).toMatchObject({ status: "completed", result: "did two" });
    expect(await waitForTask(client, id)).toMatchObject({ status: "completed", attempts: 4, failures: 0 });
    const requeued = (await eventsOf(client, "task.requeued")).filter((event) => event.data.task === id);
    expect(requeued.map(({ data }) => data.not_before !== null)).toEqual([false, false, true]);
  });

  it("a queue may say that a cut task fails although it has retries", async () => {
    const at = await project("{ agent: dev, retries: 3, on_crash: fail }");
    const first = await at.start();
    const id = await put(first.client, "hold one");
    await under_way(first.client, id, "holding one");
    await first.kill();
    const { client } = await at.start();
    expect(await waitForTask(client, id)).toMatchObject({ status: "failed", attempts: 1 });
  });

  it("an answer that had not reached its producer arrives, once", async () => {
    const at = await project("{ agent: dev }");
    const first = await at.start();
    const session = await createSession(first.client);
    const id = await give(first.client, session.id, "quick");
    await waitForTask(first.client, id);
    // The producer's turn with the answer is held: it is recorded, but not read to its end.
    await waitUntil("the answer is there", async () => (await callbacks(first.client, session.id)).length === 1);
    await first.kill();

    await at.open("hear");
    const { client } = await at.start();
    await waitUntil("it is heard", async () => (await callbacks(client, session.id))[0]?.status === "done");
    expect(await callbacks(client, session.id)).toMatchObject([{ body: "did quick" }]);
    const heard = (await eventsOf(client, "turn.text", session.id)).filter((event) =>
      event.data.text.startsWith("heard"),
    );
    expect(heard).toHaveLength(1);
  });

  it("a task is not enqueued again by a turn that is sent again", async () => {
    const at = await project("{ agent: dev }");
    const first = await at.start();
    const session = await createSession(first.client);
    await say(first.client, session.id, "first enqueue quick then hold one");
    await waitUntil("the task is there", async () => (await eventsOf(first.client, "task.ended")).length === 1);
    await first.kill();
    await at.open("one");
    await at.open("hear");
    const { client } = await at.start();
    await waitUntil("the turn is over", async () => (await eventsOf(client, "turn.ended", session.id)).length >= 3);
    expect(await eventsOf(client, "task.enqueued")).toHaveLength(1);
    expect(await callbacks(client, session.id)).toHaveLength(1);
  });

  it("queues added at run time, and that one is paused, are still there", async () => {
    const at = await project("{ agent: dev }");
    const first = await at.start();
    await first.client.call("addQueue", { body: { name: "extra", agent: "dev", retries: 2, timeout: 60 } });
    await first.client.call("pauseQueue", { path: { queue: "work" } });
    const id = await put(first.client, "later");
    await first.kill();
    const { client } = await at.start();
    const { queues } = await client.call("listQueues");
    expect(queues).toMatchObject([
      { name: "extra", source: "added", paused: false, settings: { retries: 2, timeout: 60 } },
      { name: "work", source: "config", paused: true, tasks: { pending: 1 } },
    ]);
    expect((await task(client, id)).status).toBe("pending");
    await client.call("resumeQueue", { path: { queue: "work" } });
    await waitForTask(client, id);
  });
});

describe("a running daemon", () => {
  it("ends a hung worker when its time is over", async () => {
    const at = await project("{ agent: dev, timeout: 0.5 }");
    const { client } = await at.start();
    const id = await put(client, "hang");
    const next = await put(client, "two");
    expect(await waitForTask(client, id)).toMatchObject({
      status: "failed",
      error: "timed out after 0.5s",
      result: "about to hang",
    });
    await waitForTask(client, next);
    await waitUntil("no worker is left", async () => (await openSessions(client)).length === 0);
  });

  it("takes up queues of a changed configuration, and keeps the tasks of one that is gone", async () => {
    const at = await project("{ agent: dev }");
    const { client } = await at.start();
    await client.call("pauseQueue", { path: { queue: "work" } });
    const id = await put(client, "kept");
    const agents = "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml }\n";
    await at.write(".aegis.yaml", `${agents}queues:\n  other: { agent: dev, max_parallel: 3 }\n`);
    await client.call("reloadConfig");
    const { queues } = await client.call("listQueues");
    expect(queues).toMatchObject([
      { name: "other", source: "config", settings: { max_parallel: 3 } },
      { name: "work", source: "missing", settings: null, tasks: { pending: 1 } },
    ]);
    await waitForTask(client, await put(client, "two", "other"));
    await at.write(".aegis.yaml", files("{ agent: dev }")[".aegis.yaml"] ?? "");
    await client.call("reloadConfig");
    await client.call("resumeQueue", { path: { queue: "work" } });
    await waitForTask(client, id);
  });

  it("stops without losing a task, and goes on with it at the next start", async () => {
    const at = await project("{ agent: dev, retries: 1 }");
    const first = await at.start();
    const id = await put(first.client, "hold one");
    const waiting = await put(first.client, "two");
    await under_way(first.client, id, "holding one");
    first.signal("SIGTERM");
    // The turn is let finish; what waits is not begun any more.
    await at.open("one");
    await first.exited;
    const { client } = await at.start();
    expect(await task(client, id)).toMatchObject({ status: "completed", result: "released one", attempts: 1 });
    expect(await waitForTask(client, waiting)).toMatchObject({ status: "completed", attempts: 1 });
  });
});
