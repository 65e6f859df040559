import type { SessionId } from "@aegis/contract/ids.ts";
import { eventsOfType } from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { type Forest, forest } from "./forest.ts";

async function restarted(f: Forest, options: { resume?: boolean } = {}): Promise<Forest> {
  await f.runtime.stop();
  return forest({ dir: f.dir, ...options });
}

async function openSessions(f: Forest): Promise<SessionId[]> {
  return (await f.runtime.store.read.sessions.list({ closed: false })).map((row) => row.id);
}

describe("after a stop in the middle of work", () => {
  it("what was at work has ended as error, and its parent is told once, however often Aegis is started", async () => {
    const f = await forest({ config: "subagents: { max_spawn_depth: 3 }\n" });
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const below = await f.spawn(child.session, { label: "below" });
    let g = await restarted(f);
    for (let start = 0; start < 2; start++) {
      expect(await g.row(child.run_id)).toMatchObject({ status: "error", announced_to: root });
      expect(await g.row(below.run_id)).toMatchObject({ status: "error", announced_to: null });
      expect(await openSessions(g)).toEqual([root]);
      expect(await g.announcements(root)).toEqual([
        '[Subagent Complete] "child" (error). Result: interrupted: Aegis stopped while it was working',
      ]);
      g = await restarted(g);
    }
    expect(await eventsOfType(g.runtime.store, "subagent.ended")).toHaveLength(2);
    // No notice of a refused or lost message comes on top of it.
    const kinds = (await g.runtime.store.read.messages.list(root)).map((one) => one.sender.kind);
    expect(kinds).toEqual(["human", "substrate"]);
  });

  it("a call that is repeated gets the same run, and starts nothing", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { task: "x" }, "the-call");
    const g = await restarted(f);
    await g.runtime.sessions.wakeAll();
    await g.turnOf(root);
    const again = await g.call(root, "sessions_spawn", { task: "x" }, "the-call");
    expect(again.output).toContain(child.run_id);
    expect(await g.runtime.store.read.subagents.below(root)).toHaveLength(1);
  });

  it("a subagent that had ended keeps its result", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const below = await f.spawn(child.session, { label: "below" });
    f.runtime.subagents.stop();
    await f.runtime.subagents.settled();
    await f.say(below.session, "found it");
    await waitUntil(
      "its turn is recorded",
      async () => (await f.runtime.store.read.turns.list(below.session, 1))[0]?.ended_at !== null,
    );
    expect((await f.row(below.run_id)).status).toBe("running");
    const g = await restarted(f);
    expect(await g.row(below.run_id)).toMatchObject({ status: "done", result: "found it", announced_to: root });
    expect((await g.announcements(root)).toSorted()).toEqual([
      '[Subagent Complete] "below" (done). Result: found it',
      '[Subagent Complete] "child" (error). Result: interrupted: Aegis stopped while it was working',
    ]);
  });

  it("a result that waited is delivered, and named in the prompt of the conversation that gets it", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    await f.say(child.session, "the result");
    await f.ended(child.run_id);
    const g = await restarted(f);
    await g.runtime.sessions.wakeAll();
    const turn = await g.turnOf(root);
    expect(turn.spec.systemPrompt).toContain(
      `their results come with your next message: "child" (done, run ${child.run_id})`,
    );
    expect(turn.prompt.text).not.toContain("the result");
    await g.say(root, "first");
    await waitUntil("it reads the result", async () =>
      (await g.turnOf(root)).prompt.text.includes("Result: the result"),
    );
    expect(await g.announcements(root)).toHaveLength(1);
  });

  it("a result that was lost with its reader's memory is told again", async () => {
    const f = await forest({ resume: false });
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    await f.say(child.session, "the result");
    await f.ended(child.run_id);
    await f.end(root, { type: "turn.ended", reason: "completed", error: null, usage: null });
    const reading = await f.turnOf(root);
    expect(reading.prompt.text).toContain("the result");
    // The harness had the prompt, and comes back without it.
    const [turn] = await f.runtime.store.read.turns.list(root, 1);
    await f.runtime.store.transact((tx) => tx.turns.accept(turn?.id ?? ("" as never)));
    const g = await restarted(f, { resume: false });
    await g.runtime.sessions.wakeAll();
    const { text } = (await g.turnOf(root)).prompt;
    expect(text).toMatch(/^> from substrate · \S+\n.*has no record of it/);
    expect(text.split("the result")).toHaveLength(2);
    expect(await g.announcements(root)).toHaveLength(1);
  });
});
