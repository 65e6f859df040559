/** Hooks of a plugin in a project of the built package, whose worker is a real one. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { sharedDaemon, testProject } from "../helpers/project.ts";
import { housed, journal, type Noted } from "../helpers/projects/hooks.ts";
import { createSession, endings, eventsOf, hasSaid, message, openAsk, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const shared = sharedDaemon(housed);

async function noted(count: number, ...events: Noted["event"][]): Promise<Noted[]> {
  const { dir } = shared.project;
  await waitUntil(`${count} of ${events.join(", ")}`, async () => (await journal(dir, ...events)).length >= count);
  return journal(dir, ...events);
}

describe("a turn", () => {
  it("begins with what hooks put ahead of it, who know what was said before", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    expect(await talk(client, id, "count")).toBe("you said: (turn 0, 0 said before)\n\ncount");
    expect(await talk(client, id, "count")).toBe("you said: (turn 1, 2 said before)\n\ncount");
    expect(await talk(client, id, "break")).toBe("you said: break");
  });

  it("that a hook blocks is refused with the reason, and leaves the session ready", async () => {
    const { client } = shared.daemon;
    const { id, handle } = await createSession(client);
    await say(client, id, "forbidden");
    await waitUntil("the turn has ended", async () => (await endings(client, id))[0] === "refused");
    const [ended] = await eventsOf(client, "turn.ended", id);
    expect(ended?.data.error).toEqual({ code: "blocked", message: "the house forbids it" });
    expect(await talk(client, id, "hello")).toBe("you said: hello");
    const sender = await createSession(client);
    await talk(client, sender.id, `hand forbidden to ${handle}`);
    await waitUntil("the sender is told", async () =>
      (await eventsOf(client, "turn.text", sender.id)).some(({ data }) => data.text.includes("was blocked: the house")),
    );
  });

  it("shows only what hooks let pass", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    expect(await talk(client, id, "stream damn it")).toBe("d*** it");
    expect(await talk(client, id, "swallow this")).toBe("");
    const [notice] = await eventsOf(client, "turn.notice", id);
    expect(notice?.data.text).toBe("A plugin withheld what the agent said.");
  });
});

describe("a tool call", () => {
  it.each(["list", "find"])("by '%s' is denied, changed or seen by hooks, for tools of any origin", async (verb) => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    const tool = verb === "list" ? "list_files" : "search_skills";
    expect(await talk(client, id, `${verb} deny-me`)).toContain(`no ${tool} here`);
    if (verb === "list") expect(await talk(client, id, "list change-me")).toContain("playbook.yaml (seen)");
  });

  it.each(["hang", "spin"])("is denied in time by a gate that would %s for ever", async (how) => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    expect(await talk(client, id, `list ${how}`)).toMatch(/denied because the gate house\.gate/);
    expect(await talk(client, id, "hello")).toBe("you said: hello");
  });

  it("waits for a person when a gate asks for one", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    const receipt = await say(client, id, "list ask-me");
    const ask = await openAsk(client);
    expect(ask.question).toContain("is that wise?");
    const answer = { choice: "deny", text: "" };
    await client.call("answerAsk", { path: { ask: ask.id }, body: answer });
    await waitUntil("it is answered", async () => (await message(client, receipt.message)).status === "done");
    expect((await eventsOf(client, "turn.text", id)).at(-1)?.data.text).toContain("denied by a person");
  });
});

describe("observers", () => {
  it("learn of sessions, turns, failures, handovers and the daemon", async () => {
    const { client } = shared.daemon;
    const { dir } = shared.project;
    const { id, handle } = await createSession(client);
    const other = await createSession(client);
    await talk(client, id, `hand this to ${other.handle}`);
    await say(client, id, "fail miserably");
    await waitUntil("the turn has failed", async () => (await endings(client, id)).at(-1) === "failed");
    await client.call("closeSession", { path: { session: id } });
    await waitUntil("the end is told", async () =>
      (await journal(dir, "session_end")).some(({ session }) => (session as { id: string }).id === id),
    );
    const about = await journal(dir, "session_start", "post_turn", "on_error", "session_end");
    const mine = about.filter(({ session }) => (session as { id: string }).id === id);
    expect(mine).toMatchObject([
      { event: "session_start", resumed: false, session: { handle, agent: "dev", harness: "scripted" } },
      { event: "post_turn", reason: "completed", userMessage: `hand this to ${other.handle}` },
      { event: "on_error", error: { message: "miserably" } },
      { event: "post_turn", reason: "failed" },
      { event: "session_end" },
    ]);
    expect(await noted(1, "on_startup")).toMatchObject([{ projectRoot: dir }]);
    expect(await journal(dir, "on_handoff")).toContainEqual(
      expect.objectContaining({ content: "this", from: expect.objectContaining({ handle }) }),
    );
  });
});

it("leaves a line for each call in a file of its own", async () => {
  const { client } = shared.daemon;
  const { id } = await createSession(client);
  await talk(client, id, "break");
  const file = join(shared.project.dir, ".aegis/state/hooks/house.before.jsonl");
  const lines = async () => {
    const text = await readFile(file, "utf8").catch(() => "");
    return text.split("\n").filter((line) => line.includes(id));
  };
  await waitUntil("the call is recorded", async () => (await lines()).length === 1);
  expect(JSON.parse((await lines())[0] ?? "")).toMatchObject({
    event: "pre_turn",
    plugin: "house",
    hook: "before",
    strict: false,
    status: "exception",
    error: "not strict, so nothing happens",
  });
});

describe("over a kill", () => {
  it("no message is shown to hooks twice or written twice, and sending it again adds nothing", {
    tags: "slow",
  }, async () => {
    const project = await testProject(housed);
    const first = await project.start();
    const { id } = await createSession(first.client);
    await say(first.client, id, "hold one");
    await hasSaid(first.client, id, "holding one");
    const sent = newId("msg", Date.now());
    await say(first.client, id, "whisper LOUD", { id: sent });
    await first.kill();
    const second = await project.start();
    expect(await say(second.client, id, "whisper LOUD", { id: sent })).toMatchObject({ duplicate: true });
    await project.open("one");
    await waitUntil("it is answered", async () => (await message(second.client, sent)).status === "done");
    expect((await message(second.client, sent)).body).toBe("loud");
    const received = await journal(project.dir, "message_received");
    expect(received.filter(({ content }) => content === "whisper LOUD")).toHaveLength(1);
    const admitted = await eventsOf(second.client, "message.admitted", id);
    expect(admitted.filter(({ data }) => data.message.id === sent)).toHaveLength(1);
    const started = await journal(project.dir, "session_start");
    expect(started).toMatchObject([{ resumed: false }, { resumed: true }]);
  });

  it("the end of the daemon is told last", async () => {
    const project = await testProject(housed);
    const daemon = await project.start();
    const { id } = await createSession(daemon.client);
    await talk(daemon.client, id, "hello");
    daemon.signal("SIGTERM");
    await daemon.exited;
    const told = await journal(project.dir, "on_startup", "session_start", "post_turn", "on_shutdown");
    expect(told.map(({ event }) => event)).toEqual(["on_startup", "session_start", "post_turn", "on_shutdown"]);
  });
});
