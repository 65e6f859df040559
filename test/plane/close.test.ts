/** An agent closes a peer only when that peer has nothing left to do, and hears every reason otherwise. */
import { expect, it } from "vitest";
import type { SessionId, TaskId } from "../../src/contract/ids.ts";
import { queueSettingsSchema } from "../../src/contract/task.ts";
import { offlineAgent } from "../../src/daemon/detect.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { type Forest, forest } from "../runtime/subagents/forest.ts";

async function close(team: Forest, caller: SessionId, target: SessionId): Promise<unknown> {
  const { output, is_error } = await team.call(caller, "aegis_close", { handle: target });
  expect(is_error).toBe(false);
  return JSON.parse(output);
}

it("every reason is given at once, each goes when it is no longer so, and then the session is closed", async () => {
  const team = await forest();
  const { queues, sessions, inbox } = team.runtime;
  await queues.add("work", queueSettingsSchema.parse({ agent: offlineAgent.slug }));
  await queues.start();
  const caller = await team.root();
  const peer = await team.root();
  const { handle } = await sessions.view(peer, "test");

  const child = await team.spawn(peer, { label: "digger" });
  const { output } = await team.call(peer, "aegis_enqueue", { queue: "work", payload: "do it" });
  const { task_id: task } = JSON.parse(output) as { task_id: TaskId };
  await inbox.admit({ session: peer, sender: { kind: "human" }, body: "and this" });
  const worker = (await queues.task(task)).task.worker as SessionId;
  await team.turnOf(worker);

  const owed = `'${handle}' waits for task ${task} of queue work (dispatched)`;
  const running = `'${handle}' has a running subagent: digger (${child.run_id})`;
  expect(await close(team, caller, peer)).toEqual({
    closed: false,
    handle,
    reasons: [`'${handle}' is mid-turn`, `'${handle}' has 1 unread message(s)`, owed, running],
  });

  await team.say(peer, "first turn over");
  await team.turnOf(peer);
  await team.say(peer, "second turn over");
  await waitUntil("it is idle", async () => (await sessions.view(peer, "test")).state === "ready");
  expect(await close(team, caller, peer)).toEqual({ closed: false, handle, reasons: [owed, running] });

  await team.say(worker, "done");
  await team.say(peer, "heard of the task");
  await waitUntil("it is idle", async () => {
    const { state, pending } = await sessions.view(peer, "test");
    return state === "ready" && pending === 0;
  });
  expect(await close(team, caller, peer)).toEqual({ closed: false, handle, reasons: [running] });

  await team.say(child.session, "dug");
  await team.say(peer, "heard of the child");
  await waitUntil("it is idle", async () => {
    const { state, pending } = await sessions.view(peer, "test");
    return state === "ready" && pending === 0;
  });
  expect(await close(team, caller, peer)).toEqual({ closed: true, handle });
  expect((await sessions.view(peer, "test")).state).toBe("closed");
  expect(await close(team, caller, peer)).toEqual({
    closed: false,
    handle,
    reasons: [`'${handle}' is closed already`],
  });
});

it("a worker of a queue and oneself are not closed", async () => {
  const team = await forest();
  const { queues, sessions } = team.runtime;
  await queues.add("work", queueSettingsSchema.parse({ agent: offlineAgent.slug }));
  await queues.start();
  const caller = await team.root();
  const { output } = await team.call(caller, "aegis_enqueue", { queue: "work", payload: "do it", callback: false });
  const { task_id: task } = JSON.parse(output) as { task_id: TaskId };
  const worker = (await queues.task(task)).task.worker as SessionId;
  await team.turnOf(worker);
  const { handle } = await sessions.view(worker, "test");
  expect(await close(team, caller, worker)).toEqual({
    closed: false,
    handle,
    reasons: [`'${handle}' is mid-turn`, `'${handle}' is the worker of task ${task} of queue work`],
  });
  expect(await close(team, caller, caller)).toMatchObject({ closed: false, reasons: ["you cannot close yourself"] });
});
