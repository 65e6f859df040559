/** An agent closes a peer only when that peer has nothing left to do, and hears every reason otherwise. */

import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import { queueSettingsSchema } from "@aegis/contract/task.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { type Forest, forest } from "../../../core/delegation/test/subagents/forest.ts";

async function close(team: Forest, caller: SessionId, target: SessionId): Promise<unknown> {
  const { output, is_error } = await team.call(caller, "aegis_close", { handle: target });
  expect(is_error).toBe(false);
  return JSON.parse(output);
}

/** A session that the caller started as its peer, with its first turn in progress. */
async function peerOf(team: Forest, caller: SessionId): Promise<SessionId> {
  const { output } = await team.call(caller, "aegis_spawn", { agent: offlineAgent.slug, prompt: "begin" });
  const { id } = await team.runtime.sessions.resolve((JSON.parse(output) as { handle: string }).handle);
  await team.turnOf(id);
  return id;
}

async function idle(team: Forest, session: SessionId): Promise<void> {
  await team.say(session, "done");
  await waitUntil("it is idle", async () => (await team.runtime.sessions.view(session, "test")).state === "ready");
}

it("closes what its own tree started, what its agent may end, and nothing else", async () => {
  const team = await forest();
  const janitor = { ...offlineAgent, slug: "janitor", may_end: [offlineAgent.slug] };
  const choice = { slug: offlineAgent.slug, why: "a test" };
  team.runtime.agents.replace([offlineAgent, janitor], choice);
  const caller = await team.root();
  const stranger = await team.root();
  await idle(team, stranger);
  const { handle } = await team.runtime.sessions.view(stranger, "test");
  const refused = {
    closed: false,
    handle,
    reasons: [
      `neither you nor your tree started '${handle}', and may_end of your agent does not name its agent "offline"`,
    ],
  };
  expect(await close(team, caller, stranger)).toEqual(refused);

  const peer = await peerOf(team, caller);
  const child = await team.spawn(caller);
  await idle(team, peer);
  // A member of the tree, which did not start the peer itself, nor the session at the top.
  expect(await close(team, child.session, caller)).toMatchObject({ closed: false });
  expect(await close(team, child.session, peer)).toMatchObject({ closed: true });

  // The right to end sessions is not passed on to a session that starts without it.
  await team.call(caller, "aegis_spawn", { agent: "janitor", handle: "borrowed-broom", prompt: "close it" });
  const borrowed = (await team.runtime.sessions.resolve("borrowed-broom")).id;
  await team.turnOf(borrowed);
  expect(await close(team, borrowed, stranger)).toMatchObject({ closed: false });
  const { session } = await team.runtime.sessions.create({ agent: "janitor", prompt: "clean up" });
  await team.turnOf(session.id);
  expect(await close(team, session.id, stranger)).toEqual({ closed: true, handle });
});

it("closes and cancels nothing that a session of another tree started", async () => {
  const team = await forest();
  const { queues, sessions } = team.runtime;
  await queues.add("work", queueSettingsSchema.parse({ agent: offlineAgent.slug }));
  const [caller, stranger] = [await team.root(), await team.root()];
  const theirs = await peerOf(team, stranger);
  await idle(team, theirs);
  expect(await close(team, caller, theirs)).toMatchObject({
    closed: false,
    reasons: [expect.stringContaining("neither you nor your tree started")],
  });
  const { output } = await team.call(stranger, "aegis_enqueue", { queue: "work", payload: "do it" });
  const { task_id } = JSON.parse(output) as { task_id: TaskId };
  const cancelled = await team.call(caller, "aegis_cancel", { task_id });
  expect(JSON.parse(cancelled.output)).toMatchObject({
    ok: false,
    error: expect.stringContaining("neither you nor your tree started"),
  });
  expect((await queues.task(task_id)).task.status).toBe("pending");
  expect((await sessions.view(theirs, "test")).state).toBe("ready");
});

it("every reason is given at once, each goes when it is no longer so, and then the session is closed", async () => {
  const team = await forest();
  const { queues, sessions, inbox } = team.runtime;
  await queues.add("work", queueSettingsSchema.parse({ agent: offlineAgent.slug }));
  await queues.start();
  const caller = await team.root();
  const peer = await peerOf(team, caller);
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
