import { handlePattern } from "@aegis/contract/session.ts";
import {
  completed,
  eventsOfType,
  gated,
  said,
  testDriver,
  testRuntime,
  turnsEnded,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { handleCandidates } from "../src/handles.ts";
import { cleanTitle } from "../src/titles.ts";

const human = { kind: "human" } as const;
const polite = () =>
  testDriver(async function* () {
    yield said("done");
    yield completed;
  });

describe("handles", () => {
  it("fit the pattern and never run out", () => {
    const handles = [...handleCandidates(Math.random).take(500)];
    for (const handle of handles) expect(handle).toMatch(handlePattern);
    expect(new Set(handles).size).toBeGreaterThan(450);
  });

  it("belong to one live session at a time", async () => {
    const runtime = await testRuntime(await memoryDir(), polite());
    const first = await runtime.sessions.create({ handle: "calm-moore" });
    await expect(runtime.sessions.create({ handle: "calm-moore" })).rejects.toThrow(/belongs to a live session/);
    const other = await runtime.sessions.create({ handle: "keen-planck" });
    await expect(runtime.sessions.rename(other.session.id, "calm-moore")).rejects.toThrow(
      /belongs to another live session/,
    );
    await runtime.sessions.close(first.session.id, "test");
    await runtime.sessions.rename(other.session.id, "calm-moore");
    expect((await runtime.sessions.resolve("calm-moore")).id).toBe(other.session.id);
    expect((await runtime.sessions.resolve(first.session.id)).state).toBe("closed");
  });

  it("that are mistyped get the nearest one", async () => {
    const runtime = await testRuntime(await memoryDir(), polite());
    await runtime.sessions.create({ handle: "calm-moore" });
    await expect(runtime.sessions.resolve("calm-bool")).rejects.toThrow(
      'no session "calm-bool" (did you mean "calm-moore"?)',
    );
  });

  it("start without a process", async () => {
    const driver = polite();
    const runtime = await testRuntime(await memoryDir(), driver);
    await runtime.sessions.create({});
    expect(driver.opened).toBe(0);
  });
});

describe("titles", () => {
  it("are made from the first thing asked, until somebody of a higher rank gives one", async () => {
    const runtime = await testRuntime(await memoryDir(), polite());
    const { session } = await runtime.sessions.create({
      prompt: "Count the TODOs in this project and tell me where they are",
    });
    const title = async () => (await runtime.sessions.view(session.id, "me")).title;
    expect(await title()).toBe("Count the TODOs in this project and tell me where they are");
    await runtime.sessions.setTitle(session.id, "by the agent", "agent");
    await runtime.sessions.setTitle(session.id, "by a person", "human");
    await expect(runtime.sessions.setTitle(session.id, "again", "agent")).rejects.toThrow(/set by the human/);
    await runtime.sessions.setTitle(session.id, "", "human");
    await runtime.sessions.setTitle(session.id, "free again", "auto");
    expect(await title()).toBe("free again");
  });

  it("come from the first request of any sender before its turn, and from the harness when it reports one", async () => {
    const gate = gated();
    const driver = testDriver(async function* (turn) {
      yield { type: "title", title: `The work ${driver.turns.length}` };
      yield* gate.reply(turn);
    });
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session: asker } = await runtime.sessions.create({ handle: "keen-planck" });
    const { session } = await runtime.sessions.create({});
    const sender = { kind: "agent", session: asker.id, handle: "keen-planck" } as const;
    await runtime.inbox.admit({ session: session.id, sender, body: "**Check** the parser\n\nand more" });
    gate.open(0);
    await turnsEnded(runtime, 1);
    await runtime.sessions.setTitle(session.id, "Mine", "human");
    await runtime.inbox.admit({ session: session.id, sender: human, body: "again" });
    gate.open(1);
    await turnsEnded(runtime, 2);
    const titles = (await eventsOfType(runtime.store, "session.titled")).map(({ data }) => data);
    expect(titles).toEqual([
      { title: "Check the parser", source: "auto" },
      { title: "The work 1", source: "agent" },
      { title: "Mine", source: "human" },
    ]);
  });

  it("are one clean line", () => {
    expect(cleanTitle('  "Quoted"\nmore ')).toBe("Quoted");
    expect(cleanTitle("tabs\tand\u0007 bells")).toBe("tabs and bells");
    expect(cleanTitle("x".repeat(200))).toHaveLength(80);
  });
});

describe("closing", () => {
  it("cuts the turn, refuses what waits and tells the agents that sent it", async () => {
    const gate = gated();
    const driver = testDriver(gate.reply);
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ handle: "calm-moore", prompt: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    const peer = await runtime.sessions.create({ handle: "keen-planck" });
    const sender = { kind: "agent", session: peer.session.id, handle: "keen-planck" } as const;
    const waiting = await runtime.inbox.admit({ session: session.id, sender, body: "two" });
    gate.open(1);
    expect(await runtime.sessions.close(session.id, "test")).toEqual([waiting.message]);
    await turnsEnded(runtime, 2);
    expect(driver.turns[1]?.prompt.text).toMatch(/was refused: that session was closed before reading it/);
    expect(driver.closed).toBe(1);
    await expect(runtime.sessions.close(session.id, "again")).rejects.toThrow('session "calm-moore" is closed');
    await expect(runtime.inbox.admit({ session: session.id, sender: human, body: "late" })).rejects.toThrow(
      /is closed/,
    );
    expect((await runtime.inbox.get(waiting.message)).status).toBe("refused");
  });
});

describe("what a client has not seen", () => {
  it("is counted for each client by itself", async () => {
    const runtime = await testRuntime(await memoryDir(), polite());
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await turnsEnded(runtime, 1);
    const [end] = await eventsOfType(runtime.store, "turn.ended");
    const unseen = async (client: string) => (await runtime.sessions.view(session.id, client)).unseen;
    expect([await unseen("web"), await unseen("cli")]).toEqual([1, 1]);
    expect(await runtime.sessions.markSeen(session.id, "web", end?.seq ?? 0)).toBe(0);
    expect(await runtime.sessions.markSeen(session.id, "web", 0)).toBe(0);
    expect(await unseen("cli")).toBe(1);
  });
});

describe("chains of agents", () => {
  it("are refused past the hop limit with the reason", async () => {
    const runtime = await testRuntime(await memoryDir(), polite());
    const { session } = await runtime.sessions.create({});
    const first = await runtime.inbox.admit({ session: session.id, sender: human, body: "start" });
    const cause = (hops: number) => ({ chain: first.message, hops });
    await runtime.inbox.admit({ session: session.id, sender: human, body: "ok", cause: cause(19) });
    await expect(
      runtime.inbox.admit({ session: session.id, sender: human, body: "no", cause: cause(20) }),
    ).rejects.toThrow(/the 21th of a chain of agents|chain of agents answering each other/);
  });
});

describe("bad messages", () => {
  it.each([
    ["empty", "   \n", /empty/],
    ["with NUL", "a\0b", /NUL/],
    ["too long", "x".repeat(9 * 1024 * 1024), /at most 8388608 are accepted/],
  ])("%s are refused", async (_, body, reason) => {
    const runtime = await testRuntime(await memoryDir(), polite());
    const { session } = await runtime.sessions.create({});
    await expect(runtime.inbox.admit({ session: session.id, sender: human, body })).rejects.toThrow(reason);
    expect(await eventsOfType(runtime.store, "message.admitted")).toEqual([]);
  });
});
