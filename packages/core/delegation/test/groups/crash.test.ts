// @module-tag slow
import { completed, eventsOfType, said, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { ask, gather, pair, type Team, team, waitAll, waitAny } from "./team.ts";

async function restart(before: Team, dir: string, options: { resume?: boolean } = {}): Promise<Team> {
  await before.stop();
  const next = await team(dir, options);
  await next.recover();
  await next.sessions.wakeAll();
  return next;
}

describe("after a stop in the middle of a broadcast", () => {
  it("the replies that were given are there, and the others still come", async () => {
    const dir = await tempDir();
    const first = await team(dir);
    const [a, b, c] = pair(await gather(first, "scouts", 3));
    const { id } = await ask(first, "scouts");
    await Promise.all([a, b, c ?? ""].map((handle) => first.stage.turnOf(handle)));
    await first.stage.say(a, "before");
    await turnsEnded(first, 1);

    const second = await restart(first, dir);
    const partial = await waitAll(second, "scouts", 0);
    expect(partial).toMatchObject({ broadcast_id: id, combined: `---\n${a}: before`, errors: {} });
    expect(partial.timeouts).toEqual([b, c].sort());
    await second.stage.say(b, "after");
    await turnsEnded(second, 4);
    await second.stage.say(c ?? "", "last");
    const result = await waitAll(second, "scouts");
    expect(result.combined).toBe(`---\n${a}: before\n\n---\n${b}: after\n\n---\n${c}: last`);
    expect(result).toMatchObject({ errors: {}, timeouts: [] });
    expect(await eventsOfType(second.store, "group.replied")).toHaveLength(3);
    expect(await eventsOfType(second.store, "group.settled")).toHaveLength(1);
  });

  it("replies are stored although no one waits for them", async () => {
    const dir = await tempDir();
    const first = await team(dir);
    const [a, b] = pair(await gather(first, "scouts", 2));
    await ask(first, "scouts");
    await Promise.all([a, b].map((handle) => first.stage.turnOf(handle)));

    const second = await restart(first, dir);
    await second.stage.say(a, "one");
    await second.stage.say(b, "two");
    await waitUntil("the end of the broadcast", async () => {
      return (await eventsOfType(second.store, "group.settled")).length === 1;
    });
    expect(await eventsOfType(second.store, "group.replied")).toHaveLength(2);
    await second.stop();
  });

  it("replies whose turns ended unseen are found in the store, in the order they ended", async () => {
    const dir = await tempDir();
    const first = await team(dir);
    const [a, b] = pair(await gather(first, "scouts", 2));
    const { members } = await ask(first, "scouts");
    await first.stage.turnOf(a);
    await first.stage.turnOf(b);
    await first.stop();
    // As if the daemon had gone between the ends of the turns and the note of the replies.
    const again = await team(dir);
    for (const turn of await again.store.read.turns.open()) {
      const member = members.find((one) => one.session === turn.session);
      if (member === undefined) throw new Error("a turn of nobody");
      const end = { reason: "completed", error: null, text: "unseen", usage: null, seq: 1 } as const;
      await again.store.transact(async (tx) => {
        await tx.turns.end(turn.id, { ...end, at: turn.started_at + (member.handle === b ? 1_000 : 2_000) });
        await tx.messages.setStatus([member.message], "done", turn.id);
      });
    }
    const combined = `---\n${b}: unseen\n\n---\n${a}: unseen`;
    expect((await waitAll(again, "scouts", 0)).combined).toBe(combined);
    await again.stop();
    const later = await team(dir);
    expect((await waitAll(later, "scouts", 0)).combined).toBe(combined);
  });

  it("a member that remembers the cut turn replies in the turn in which it goes on", async () => {
    const dir = await tempDir();
    const first = await team(dir);
    const [a] = await gather(first, "scouts", 1);
    const handle = a ?? "";
    await ask(first, "scouts");
    const { session } = await first.stage.turnOf(handle);
    await accept(first, session);
    let last = first;
    for (const _ of ["once", "twice"]) {
      last = await restart(last, dir);
      expect((await last.stage.turnOf(handle)).prompt.text).toMatch(/^> from substrate · /);
      expect((await waitAll(last, "scouts", 0)).timeouts).toEqual([handle]);
      await accept(last, session);
    }
    await last.stage.end(handle, said("it goes on"), completed);
    expect(await waitAll(last, "scouts")).toMatchObject({ combined: `---\n${handle}: it goes on`, errors: {} });
  });

  it("a member whose agent lost its conversation is asked again, and its reply counts", async () => {
    const dir = await tempDir();
    const first = await team(dir, { resume: false });
    const [a] = await gather(first, "scouts", 1);
    const handle = a ?? "";
    const { objective } = await ask(first, "scouts");
    const { session } = await first.stage.turnOf(handle);
    await accept(first, session);
    const second = await restart(first, dir, { resume: false });
    const { text } = (await second.stage.turnOf(handle)).prompt;
    expect(text).toMatch(/^> from substrate · \S+\n.*has no record of it/);
    expect(text).toContain(objective);
    await second.stage.say(handle, "asked twice");
    expect(await waitAll(second, "scouts")).toMatchObject({ combined: `---\n${handle}: asked twice`, errors: {} });
  });

  it("who was let off is not asked again", async () => {
    const dir = await tempDir();
    const first = await team(dir);
    const [a, b] = pair(await gather(first, "scouts", 2));
    await ask(first, "scouts");
    const { session } = await first.stage.turnOf(b);
    await first.stage.say(a, "quick");
    await turnsEnded(first, 1);
    // The loser's row is written; its turn is not cut, as if the daemon had gone in between.
    first.turns.interrupt = async () => false;
    expect((await waitAny(first, "scouts")).by_member[b]?.status).toBe("cancelled");
    const second = await restart(first, dir);
    await waitUntil("nothing waits", async () => (await second.store.read.messages.countPending(session)) === 0);
    expect(second.stage.working(b)).toBe(false);
    expect((await second.sessions.turns(session, 5)).map((turn) => turn.reason)).toEqual(["lost"]);
  });

  it("members of a group that was being dissolved are closed", async () => {
    const dir = await tempDir();
    const first = await team(dir);
    const [a] = await gather(first, "scouts", 1);
    const { id } = await first.sessions.resolve(a ?? "");
    first.sessions.close = async () => [];
    await first.groups.dissolve("scouts");
    expect((await first.sessions.resolve(id)).closed_at).toBeNull();
    const second = await restart(first, dir);
    expect((await second.sessions.resolve(id)).closed_at).not.toBeNull();
  });
});

/** The harness has recorded the prompt. */
async function accept(runtime: Team, session: Parameters<Team["turns"]["current"]>[0]): Promise<void> {
  const open = await runtime.store.read.turns.open();
  const turn = open.find((one) => one.session === session);
  if (turn === undefined) throw new Error("no turn to accept");
  await runtime.store.transact((tx) => tx.turns.accept(turn.id));
}
