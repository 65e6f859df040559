/** The queue tools as agents use them, on a real daemon. */

import { waitForTask } from "@aegis/client/wait-work.ts";
import { isId, type TaskId } from "@aegis/contract/ids.ts";
import { sharedDaemon } from "@aegis/test/helpers/project.ts";
import { createSession, talk } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const shared = sharedDaemon({
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  work: { agent: dev }
  side: { agent: dev }
`,
  "playbook.yaml": `
rules:
  - name: hear of a task
    from: queue
    when: always
    steps: [{ say: "heard: {text}" }]
  - { name: hold, when: '/^hold (\\S+)/', steps: [{ wait: { gate: "gates/{1}" } }, { say: "released {1}" }] }
  - { name: fail, when: '/^fail/', steps: [{ say: trying }, { fail: broken }] }
  - name: enqueue
    when: '/^enqueue (\\S+): (.+)/'
    steps: [{ tool: aegis_enqueue, input: { queue: "{1}", payload: "{2}" }, save: answer }, { say: "{answer}" }]
  - name: enqueue as somebody else
    when: '/^pretend (\\S+): (.+)/'
    steps:
      - tool: aegis_enqueue
        input: { queue: "{1}", payload: "{2}", from_handle: another-session }
        save: answer
      - say: "{answer}"
  - name: enqueue quietly
    when: '/^quietly (\\S+): (.+)/'
    steps:
      - { tool: aegis_enqueue, input: { queue: "{1}", payload: "{2}", callback: false }, save: answer }
      - say: "{answer}"
  - name: delegate
    when: '/^delegate (\\S+): (.+)/'
    steps: [{ tool: aegis_delegate, input: { queue: "{1}", payload: "{2}" }, save: answer }, { say: "{answer}" }]
  - name: delegate for a moment
    when: '/^briefly (\\S+): (.+)/'
    steps:
      - { tool: aegis_delegate, input: { queue: "{1}", payload: "{2}", timeout_s: 0.2 }, save: answer }
      - say: "{answer}"
  - name: status
    when: '/^status (\\S+)/'
    steps: [{ tool: aegis_task_status, input: { task_id: "{1}" }, save: answer }, { say: "{answer}" }]
  - name: cancel
    when: '/^cancel (\\S+)/'
    steps: [{ tool: aegis_cancel, input: { task_id: "{1}" }, save: answer }, { say: "{answer}" }]
  - { name: anything else, when: always, steps: [{ say: "did {text}" }] }
`,
});

let minted = 0;

/** A new session that is told to do this, and what it answers. */
async function asked(text: string): Promise<{ session: string; answer: string }> {
  const session = await createSession(shared.daemon.client, { handle: `asker-n${minted++}` });
  return { session: session.id, answer: await talk(shared.daemon.client, session.id, text) };
}

async function json(text: string): Promise<Record<string, unknown>> {
  return JSON.parse((await asked(text)).answer) as Record<string, unknown>;
}

it("aegis_enqueue says where the task stands, and its answer comes as a message", async () => {
  const { client } = shared.daemon;
  const { session, answer } = await asked("enqueue work: hold one");
  const started = JSON.parse(answer) as { task_id: TaskId };
  expect(started).toEqual({ task_id: expect.any(String), queued_position: 0 });
  expect(isId("tsk", started.task_id)).toBe(true);
  const behind = await json("quietly work: two");
  expect(behind).toEqual({ task_id: expect.any(String), queued_position: 1 });
  expect(await json(`status ${behind.task_id}`)).toEqual({
    status: "pending",
    verified: false,
    receipt: null,
    result: null,
    error: null,
    completed_at: null,
    queued_position: 1,
  });
  expect(await json(`status ${started.task_id}`)).toMatchObject({ status: "dispatched", queued_position: null });
  await shared.project.open("one");
  await waitForTask(client, behind.task_id as TaskId);
  await waitUntil("it is heard", async () => {
    const { turns } = await client.call("listTurns", { path: { session } });
    return turns[0]?.text === "heard: released one";
  });
  expect(await json(`status ${started.task_id}`)).toEqual({
    status: "completed",
    verified: false,
    receipt: null,
    result: "released one",
    error: null,
    completed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    queued_position: null,
  });
  const { messages } = await client.call("listMessages", { path: { session } });
  expect(messages.at(-1)).toMatchObject({
    sender: { kind: "queue", name: "work", task: started.task_id, status: "ok" },
    hops: 2,
  });
});

it("aegis_delegate waits for the result, or says that the time is over", async () => {
  expect(await json("delegate side: this")).toEqual({
    task_id: expect.any(String),
    status: "completed",
    verified: false,
    receipt: null,
    result: "did this",
  });
  expect(await json("delegate side: fail")).toEqual({
    task_id: expect.any(String),
    status: "failed",
    verified: false,
    receipt: null,
    error: "broken",
    result: "trying",
  });
  const late = await json("briefly side: hold late");
  expect(late).toEqual({ task_id: expect.any(String), status: "timeout" });
  expect(await json(`status ${late.task_id}`)).toMatchObject({ status: "dispatched" });
  await shared.project.open("late");
  expect(await waitForTask(shared.daemon.client, late.task_id as TaskId)).toMatchObject({ status: "completed" });
});

it("aegis_cancel says what it cancelled", async () => {
  const { session, answer } = await asked("quietly side: hold never");
  const again = async (text: string) => JSON.parse(await talk(shared.daemon.client, session, text));
  const running = JSON.parse(answer);
  const waiting = await again("quietly side: two");
  expect(await again(`cancel ${waiting.task_id}`)).toEqual({ ok: true, status: "cancelled", was: "pending" });
  expect(await json(`cancel ${running.task_id}`)).toMatchObject({
    ok: false,
    error: expect.stringContaining(`neither you nor your tree started task ${running.task_id}`),
  });
  expect(await again(`cancel ${running.task_id}`)).toEqual({ ok: true, status: "cancelled", was: "in_flight" });
  expect(await again(`cancel ${running.task_id}`)).toEqual({ ok: true, status: "cancelled", note: "already terminal" });
  expect(await json("cancel tsk_nothing")).toEqual({ ok: false, error: "no task tsk_nothing" });
  expect(await json("status tsk_nothing")).toMatchObject({ status: "unknown" });
});

it("a queue that does not exist, or another's name, is refused in words an agent can act on", async () => {
  expect((await asked("enqueue wrok: this")).answer).toBe(
    'aegis_enqueue failed: no queue "wrok" (did you mean "work"?) (queues here: work, side)',
  );
  expect((await asked("pretend work: this")).answer).toMatch(/from_handle "another-session" is not you/);
});
