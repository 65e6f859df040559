import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { describe, expect, it } from "vitest";
import { isRunning } from "../helpers/pids.ts";
import { readPlace, withPlaneAgent } from "../helpers/plane-agent.ts";
import { testProject } from "../helpers/project.ts";
import {
  allEvents,
  answerTo,
  createSession,
  endings,
  eventsOf,
  hasSaid,
  message,
  messages,
  openAsk,
  say,
  talk,
  toolResults,
} from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

async function viewOf(client: Client, session: SessionView): Promise<SessionView> {
  return (await client.call("getSession", { path: { session: session.id } })).session;
}

describe("after kill -9", () => {
  it("a message that no turn had taken yet is answered once", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const busy = await createSession(first.client, { handle: "busy-hopper", prompt: "hold end" });
    await hasSaid(first.client, busy.id, "holding end");
    const idle = await createSession(first.client, { handle: "idle-boole" });
    // A daemon that drains still admits messages but begins no turn.
    first.signal("SIGTERM");
    await waitUntil("it drains", async () => (await first.client.call("status")).state === "stopping");
    const receipt = await say(first.client, idle.id, "waiting");
    expect(await message(first.client, receipt.message)).toMatchObject({ status: "pending", turn: null });
    await first.kill();

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("you said: waiting");
    expect(await endings(client, idle.id)).toEqual(["completed"]);
  });

  it("a turn in progress is lost, and its message is answered by the next one", async () => {
    const project = await testProject();
    const first = await project.start();
    const session = await createSession(first.client, { handle: "calm-moore", title: "the title" });
    expect(await talk(first.client, session.id, "before")).toBe("you said: before");
    const receipt = await say(first.client, session.id, "hold one");
    await hasSaid(first.client, session.id, "holding one");
    const before = await allEvents(first.client, session.id);
    await first.kill();
    await project.open("one");

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("released one");
    expect(await endings(client, session.id)).toEqual(["completed", "lost", "completed"]);
    const [, lost] = await eventsOf(client, "turn.ended", session.id);
    expect(lost?.data).toMatchObject({ reason: "lost", error: { code: "restart" } });
    expect(await viewOf(client, session)).toMatchObject({
      id: session.id,
      handle: "calm-moore",
      title: "the title",
      state: "ready",
      pending: 0,
    });
    expect((await allEvents(client, session.id)).slice(0, before.length)).toEqual(before);
    expect((await eventsOf(client, "message.redelivered", session.id)).map((event) => event.data.message)).toEqual([
      receipt.message,
    ]);
  });

  it("messages queued behind a turn make up one turn of their own, after it and in order", async () => {
    const project = await testProject();
    const first = await project.start();
    const session = await createSession(first.client);
    await say(first.client, session.id, "hold one");
    await hasSaid(first.client, session.id, "holding one");
    const second = await say(first.client, session.id, "two");
    const third = await say(first.client, session.id, "three");
    expect([second.text, third.text]).toEqual([
      `queued for ${session.handle} (position 1)`,
      `queued for ${session.handle} (position 2)`,
    ]);
    await first.kill();
    await project.open("one");

    const { client } = await project.start();
    expect(await answerTo(client, third)).toBe("you said: three");
    const said = (await eventsOf(client, "turn.text", session.id)).map((event) => event.data.text);
    expect(said.slice(-2)).toEqual(["you said: two", "you said: three"]);
    expect(await endings(client, session.id)).toEqual(["lost", "completed", "completed"]);
    const started = await eventsOf(client, "turn.started", session.id);
    expect(started.map((event) => event.data.messages.length)).toEqual([1, 1, 2]);
    expect(await messages(client, session.id)).toEqual(
      ["hold one", "two", "three"].map((body) => expect.objectContaining({ body, status: "done" })),
    );
  });

  it("a turn that had ended is not run again", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const session = await createSession(first.client);
    const receipt = await say(first.client, session.id, "only once");
    await waitUntil("the turn ended", async () => (await eventsOf(first.client, "turn.ended")).length === 1);
    await first.kill();

    const { client } = await project.start();
    expect(await message(client, receipt.message)).toMatchObject({ status: "done" });
    expect(await talk(client, session.id, "next")).toBe("you said: next");
    expect(await endings(client, session.id)).toEqual(["completed", "completed"]);
    expect(await eventsOf(client, "message.redelivered")).toEqual([]);
  });

  it("killed over and over in the same turn, it is answered in the end, once", { tags: "slow" }, async () => {
    const project = await testProject();
    let daemon = await project.start();
    const session = await createSession(daemon.client);
    const receipt = await say(daemon.client, session.id, "hold one");
    for (let kills = 1; kills <= 3; kills++) {
      await waitUntil(
        `turn ${kills} runs`,
        async () => (await eventsOf(daemon.client, "turn.text", session.id)).length === kills,
      );
      await daemon.kill();
      if (kills === 3) await project.open("one");
      daemon = await project.start();
    }
    expect(await answerTo(daemon.client, receipt)).toBe("released one");
    expect(await endings(daemon.client, session.id)).toEqual(["lost", "lost", "lost", "completed"]);
  });

  it("work that was handed over before the cut is not handed over again", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start({ env: { FAKE_API_KEY: "sk-very-secret-value" } });
    const giver = await createSession(first.client, { handle: "keen-planck" });
    const taker = await createSession(first.client, { handle: "calm-moore" });
    // A secret in what is handed over must not make the repetition look like another message.
    const receipt = await say(first.client, giver.id, "hand sk-very-secret-value to calm-moore then hold one");
    await toolResults(first.client, giver.id, 1);
    await waitUntil("the peer answered", async () => (await endings(first.client, taker.id))[0] === "completed");
    await first.kill();
    await project.open("one");

    const { client } = await project.start({ env: { FAKE_API_KEY: "sk-very-secret-value" } });
    expect(await answerTo(client, receipt)).toBe("landed at calm-moore");
    expect(await endings(client, giver.id)).toEqual(["lost", "completed"]);
    expect(await messages(client, taker.id)).toHaveLength(1);
    expect(await endings(client, taker.id)).toEqual(["completed"]);
  });

  it("work that was handed over is there even if its reader never began", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const giver = await createSession(first.client, { handle: "keen-planck" });
    const taker = await createSession(first.client, { handle: "calm-moore", prompt: "hold peer" });
    await hasSaid(first.client, taker.id, "holding peer");
    await say(first.client, giver.id, "hand parcel to calm-moore then hold one");
    await toolResults(first.client, giver.id, 1);
    await first.kill();
    await project.open("one");
    await project.open("peer");

    const { client } = await project.start();
    await waitUntil("all is answered", async () =>
      [...(await messages(client, giver.id)), ...(await messages(client, taker.id))].every(
        (one) => one.status === "done",
      ),
    );
    const parcels = (await messages(client, taker.id)).filter((one) => one.sender.kind === "agent");
    expect(parcels.map((one) => one.body)).toEqual(["parcel"]);
    expect(await endings(client, taker.id)).toEqual(["lost", "completed", "completed"]);
  });

  it("a session that the cut turn had started is not started again", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const parent = await createSession(first.client);
    const receipt = await say(first.client, parent.id, "spawn new-ritchie then hold one");
    await toolResults(first.client, parent.id, 1);
    await first.kill();
    await project.open("one");

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe('{"handle":"new-ritchie"}');
    const { sessions } = await client.call("listSessions");
    expect(sessions.filter((one) => one.handle === "new-ritchie")).toHaveLength(1);
    await waitUntil("the peer answered its prompt", async () =>
      (await messages(client, "new-ritchie")).every((one) => one.status === "done"),
    );
    expect(await messages(client, "new-ritchie")).toHaveLength(1);
  });

  it("an open ask stays open, and the answer given after the restart counts", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const session = await createSession(first.client);
    const receipt = await say(first.client, session.id, "may you deploy");
    const asked = await openAsk(first.client);
    await first.kill();

    const { client } = await project.start();
    const ask = await openAsk(client);
    expect(ask).toEqual(asked);
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "allow", digest: asked.digest } });
    expect(await answerTo(client, receipt)).toBe("allowed: deploy");
    expect(await eventsOf(client, "ask.opened")).toHaveLength(1);
    expect(await eventsOf(client, "ask.settled")).toHaveLength(1);
    expect((await client.call("listAsks")).asks).toEqual([]);
  });

  it("an answer that was given before the kill is honoured after it", { tags: "slow" }, async () => {
    const project = await testProject();
    await project.write(
      "playbook.yaml",
      `rules: [{ name: ask then hold, when: always, steps: [{ ask: "May I?", tool: deploy, save: decision },
        { wait: { gate: gates/one } }, { say: "{decision}" }] }]`,
    );
    const first = await project.start();
    const session = await createSession(first.client);
    const receipt = await say(first.client, session.id, "go");
    const ask = await openAsk(first.client);
    await first.client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "always" } });
    await first.kill();
    await project.open("one");

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("allowed");
    expect(await eventsOf(client, "ask.opened")).toHaveLength(1);
  });

  it("several sessions in different states all come back", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const names = Array.from({ length: 8 }, (_, index) => `member-n${index}`);
    const sessions = await Promise.all(names.map((handle) => createSession(first.client, { handle })));
    const receipts = await Promise.all(
      sessions.map((session, index) => say(first.client, session.id, index % 2 === 0 ? "hold all" : "quick")),
    );
    await Promise.all(
      sessions.map((session, index) =>
        hasSaid(first.client, session.id, index % 2 === 0 ? "holding all" : "you said: quick"),
      ),
    );
    await first.client.call("closeSession", { path: { session: "member-n7" } });
    await first.client.call("updateSession", { path: { session: "member-n6" }, body: { handle: "renamed-lovelace" } });
    await first.kill();
    await project.open("all");

    const { client } = await project.start();
    const answers = await Promise.all(receipts.map((receipt) => answerTo(client, receipt)));
    expect(answers).toEqual(sessions.map((_, index) => (index % 2 === 0 ? "released all" : "you said: quick")));
    const { sessions: open } = await client.call("listSessions");
    expect(open.map((one) => one.handle).sort()).toEqual([...names.slice(0, 6), "renamed-lovelace"].sort());
    expect(open.find((one) => one.handle === "renamed-lovelace")?.id).toBe(sessions[6]?.id);
  });

  it("what a client has not seen yet is still unseen", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const session = await createSession(first.client);
    await talk(first.client, session.id, "one");
    const [read] = await eventsOf(first.client, "turn.ended");
    await talk(first.client, session.id, "two");
    await talk(first.client, session.id, "three");
    await first.client.call("markSeen", { path: { session: session.id }, body: { seq: read?.seq ?? 0 } });
    expect(await viewOf(first.client, session)).toMatchObject({ unseen: 2 });
    await first.kill();

    const { client } = await project.start();
    expect(await viewOf(client, session)).toMatchObject({ unseen: 2 });
    const other = await client.call("getSession", { path: { session: session.id }, query: { client: "another" } });
    expect(other.session.unseen).toBe(3);
  });

  it("an agent's process that outlived the daemon is ended before another one answers", { tags: "slow" }, async () => {
    const project = await testProject(withPlaneAgent);
    const first = await project.start();
    const session = await createSession(first.client, { agent: "remote", prompt: "hold orphan" });
    const { pid } = await readPlace(project.dir, "orphan");
    await first.kill();
    expect(isRunning(pid)).toBe(true);
    await rm(join(project.dir, "planes"), { recursive: true });

    const { client } = await project.start();
    expect(isRunning(pid)).toBe(false);
    expect((await eventsOf(client, "turn.ended", session.id)).map((event) => event.data.reason)).toEqual(["lost"]);
    const second = await readPlace(project.dir, "orphan");
    await client.call("closeSession", { path: { session: session.id } });
    await waitUntil("its own process ended too", () => !isRunning(second.pid));
  });
});
