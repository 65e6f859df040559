// @module-tag slow
/** What a worker had said is kept when its task is cut, also text that was still streaming. */

import type { Client } from "@aegis/client/client.ts";
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { describe, expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { eventsOf } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const streaming = {
  ".aegis.yaml": `default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  line: { agent: dev }
  brief: { agent: dev, timeout: 6, retries: 0 }
`,
  // The first piece of the answer comes at once, the second one never. It ends with a full stop: Aegis holds back letters
  // with which a secret could begin.
  "playbook.yaml": `
rules:
  - name: stream half of an answer
    when: '/^half/'
    steps: [{ say: "let me see" }, { stream: "the first half. The rest", chunk: 15, delay: 60000 }]
`,
};

async function taskOf(client: Client, task: TaskId): Promise<TaskView> {
  return (await client.call("getTask", { path: { task } })).task;
}

/** Enqueues a task and waits until its worker has streamed half of its answer. */
async function halfDone(client: Client, queue = "line"): Promise<{ task: TaskId; worker: SessionId }> {
  const { task } = await client.call("enqueueTask", { path: { queue }, body: { payload: "half" } });
  let worker: SessionId | null = null;
  await waitUntil("its worker has said half", async () => {
    worker = (await taskOf(client, task.id)).worker;
    if (worker === null) return false;
    // The task names its worker before the session exists.
    const found = await client.call("listTurns", { path: { session: worker } }).catch(() => null);
    return found?.turns[0]?.text === "the first half.";
  });
  if (worker === null) throw new Error("the task has no worker");
  return { task: task.id, worker };
}

describe("the last words of a worker", () => {
  it("are kept when its task is cancelled while it speaks", async () => {
    const { client } = await (await testProject(streaming)).start();
    const { task } = await halfDone(client);
    await client.call("cancelTask", { path: { task } });
    expect(await taskOf(client, task)).toMatchObject({ status: "cancelled", result: "the first half." });
  });

  it("are kept when its turn is interrupted or its session closed while it speaks", async () => {
    const { client } = await (await testProject(streaming)).start();
    for (const end of ["interruptSession", "closeSession"] as const) {
      const { task, worker } = await halfDone(client);
      await client.call(end, { path: { session: worker } });
      await waitUntil("the task has ended", async () => (await taskOf(client, task)).status === "failed");
      expect(await taskOf(client, task)).toMatchObject({ result: "the first half." });
    }
  });

  it("are kept when its time is over", async () => {
    const { client } = await (await testProject(streaming)).start();
    const { task } = await halfDone(client, "brief");
    await waitUntil("the task has ended", async () => (await taskOf(client, task)).status === "failed");
    expect(await taskOf(client, task)).toMatchObject({ error: "timed out after 6s", result: "the first half." });
  });

  it("are kept when the daemon is killed while it speaks", async () => {
    const project = await testProject(streaming);
    const first = await project.start();
    const { task, worker } = await halfDone(first.client);
    const said = async () =>
      (await first.client.call("listTurns", { path: { session: worker } })).turns[0]?.text === "the first half.";
    await waitUntil("the text is stored", said);
    await first.kill();

    const { client } = await project.start();
    await waitUntil("the task has ended", async () => (await taskOf(client, task)).status === "failed");
    expect(await taskOf(client, task)).toMatchObject({ result: "the first half." });
    // People who read the conversation see it as well, once.
    const texts = (await eventsOf(client, "turn.text", worker)).map(({ data }) => data.text);
    expect(texts).toEqual(["let me see", "the first half."]);
    const [ended] = await eventsOf(client, "turn.ended", worker);
    expect(ended?.data).toMatchObject({ reason: "lost", text: "the first half." });
  });
});
