/** Sessions that begin with what another remembers. */

import { completed, gated, said, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

/** Remembers each prompt, as memory and under a name of its own. */
function remembering(fork: boolean) {
  return testDriver(
    async function* ({ prompt, spec }) {
      await spec.host.remember(`name of ${spec.session.handle}`);
      yield { type: "memory", value: prompt.text };
      yield said("noted");
      yield completed;
    },
    { fork },
  );
}

async function talked(fork = true) {
  const driver = remembering(fork);
  const runtime = await testRuntime(await memoryDir(), driver);
  const { session } = await runtime.sessions.create({ handle: "calm-moore", prompt: "one" });
  await turnsEnded(runtime, 1);
  return { driver, runtime, session };
}

describe("a fork", () => {
  it("begins with the memory and the conversation of the other, up to the fork", async () => {
    const { driver, runtime, session } = await talked();
    const { session: fork } = await runtime.sessions.fork(session.id, { handle: "keen-planck", prompt: "two" });
    expect(fork).toMatchObject({ handle: "keen-planck", agent: session.agent, forked_from: session.id });
    await turnsEnded(runtime, 2);
    expect(driver.turns[1]?.spec).toMatchObject({ resume: null, fork: "name of calm-moore", memory: ["one"] });

    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "only the first" });
    await turnsEnded(runtime, 3);
    const { session: again } = await runtime.sessions.fork(fork.id, { handle: "wise-fermi", prompt: "three" });
    await turnsEnded(runtime, 4);
    expect(again.forked_from).toBe(fork.id);
    expect(driver.turns[3]?.spec).toMatchObject({ fork: "name of keen-planck", memory: ["one", "two"] });
  });

  it("keeps the limits of the other, and begins a tree of its own", async () => {
    const { runtime, session } = await talked();
    const { session: peer } = await runtime.sessions.create({
      starter: session.id,
      agent: session.agent,
      prompt: "hi",
    });
    await turnsEnded(runtime, 2);
    const { session: fork } = await runtime.sessions.fork(peer.id, {});
    const limited = await runtime.store.read.sessions.get(peer.id);
    expect(limited).toMatchObject({ root: session.id, started_by: session.id, limits: { may_end: [] } });
    const row = await runtime.store.read.sessions.get(fork.id);
    expect(row).toMatchObject({ root: null, started_by: null, limits: limited?.limits });
  });

  it("goes on with its own conversation once it has one", async () => {
    const { driver, runtime, session } = await talked();
    const { session: fork } = await runtime.sessions.fork(session.id, { handle: "keen-planck", prompt: "two" });
    await turnsEnded(runtime, 2);
    await runtime.conversations.close(fork.id);
    await runtime.inbox.admit({ session: fork.id, sender: { kind: "human" }, body: "three" });
    await turnsEnded(runtime, 3);
    expect(driver.turns[2]?.spec).toMatchObject({ resume: "name of keen-planck", memory: ["one", "two"] });
  });

  it("is refused where the harness cannot, with what to do", async () => {
    const { runtime, session } = await talked(false);
    await expect(runtime.sessions.fork(session.id, {})).rejects.toMatchObject({
      code: "invalid",
      message: '"calm-moore" runs on "scripted", which cannot fork a conversation',
      hint: expect.stringContaining("start a new session"),
    });
  });

  it("is refused in the middle of a turn, and where there is nothing to begin with", async () => {
    const gate = gated();
    const driver = testDriver(gate.reply, { fork: true });
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ handle: "calm-moore" });
    await expect(runtime.sessions.fork(session.id, {})).rejects.toThrow(/nothing to remember yet/);
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    await expect(runtime.sessions.fork(session.id, {})).rejects.toThrow(/in the middle of a turn/);
    gate.open(0);
  });
});
