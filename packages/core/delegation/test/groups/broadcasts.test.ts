import { newId } from "@aegis/contract/ids.ts";
import type { DriverEvent } from "@aegis/drivers/driver.ts";
import { completed, eventsOfType, said, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { ask, brief, gather, human, pair, team, waitAll, waitAny } from "./team.ts";

const failed: DriverEvent = {
  type: "turn.ended",
  reason: "failed",
  error: { code: "model", message: "the model is away" },
  usage: null,
};

describe("a broadcast", () => {
  it("is one message of four labelled fields to each member, under one header", async () => {
    const runtime = await team();
    const handles = await gather(runtime, "scouts", 3);
    const { id } = await ask(runtime, "scouts");
    for (const handle of handles) {
      const { prompt } = await runtime.stage.turnOf(handle);
      const [header, ...body] = prompt.text.split("\n");
      expect(header).toMatch(new RegExp(`^> from group:scouts/broadcast:${id} · \\d{4}-\\d\\d-\\d\\dT[\\d:]+Z$`));
      expect(body).toEqual([
        "objective: find the bug",
        "output_format: one line",
        "tool_guidance: read only",
        "boundaries: leave the tests alone",
      ]);
    }
    const admitted = await eventsOfType(runtime.store, "message.admitted");
    expect(admitted.map((event) => event.data.message.sender)).toEqual(
      handles.map(() => ({ kind: "group", group: "scouts", broadcast: id })),
    );
  });

  it("is stored whole or not at all", async () => {
    const runtime = await team();
    const [a] = pair(await gather(runtime, "far", 2));
    const cause = { chain: newId("msg", 1), hops: 20 };
    const refused = runtime.broadcasts.send({ group: "far", sender: human, ...brief, cause });
    await expect(refused).rejects.toMatchObject({ code: "too_many" });
    expect((await runtime.groups.view("far")).broadcast).toBeNull();
    const session = await runtime.sessions.resolve(a);
    expect(await runtime.store.read.messages.list(session.id)).toEqual([]);
    expect(await eventsOfType(runtime.store, "group.broadcast")).toEqual([]);
  });

  it("is refused while the last one is open, with who is still out, and allowed afterwards", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    const first = await ask(runtime, "scouts");
    await runtime.stage.say(a, "done");
    await turnsEnded(runtime, 1);
    const second = ask(runtime, "scouts", { objective: "again" });
    await expect(second).rejects.toMatchObject({
      code: "conflict",
      message: `group "scouts" still answers ${first.id}: no reply yet of ${b}`,
    });
    await runtime.stage.say(b, "done too");
    await turnsEnded(runtime, 2);
    expect((await ask(runtime, "scouts", { objective: "again" })).id).not.toBe(first.id);
  });

  it("sent again under its id is sent once", async () => {
    const runtime = await team();
    const handles = await gather(runtime, "scouts", 2);
    const first = await ask(runtime, "scouts");
    const again = await runtime.broadcasts.send({ id: first.id, group: "scouts", sender: human, ...brief });
    expect(again.id).toBe(first.id);
    expect(await eventsOfType(runtime.store, "message.admitted")).toHaveLength(handles.length);
    const other = runtime.broadcasts.send({ id: first.id, group: "scouts", sender: human, ...brief, objective: "no" });
    await expect(other).rejects.toMatchObject({ code: "conflict" });
  });

  it("leaves out the member who asks, and closed ones", async () => {
    const runtime = await team();
    const [a, b, c] = pair(await gather(runtime, "scouts", 3));
    const asker = await runtime.sessions.resolve(a);
    await runtime.sessions.close((await runtime.sessions.resolve(b)).id, "a test");
    const sender = { kind: "agent", session: asker.id, handle: a } as const;
    const { members } = await runtime.broadcasts.send({ group: "scouts", sender, ...brief });
    expect(members.map((member) => member.handle)).toEqual([c]);
    await gather(runtime, "lonely", 1);
    const [only] = (await runtime.groups.view("lonely")).members;
    const alone = { kind: "agent", session: only?.session ?? asker.id, handle: "" } as const;
    const nobody = runtime.broadcasts.send({ group: "lonely", sender: alone, ...brief });
    await expect(nobody).rejects.toThrow(/no open member/);
  });
});

describe("a reply", () => {
  it("is the whole text of the turn that took the message, with its usage and time", async () => {
    const runtime = await team();
    const [a] = await gather(runtime, "scouts", 1);
    await ask(runtime, "scouts");
    const usage = { input: 10, cache_read: 5, cache_write: 1, output: 7, cost: null };
    const handle = a ?? "";
    await runtime.stage.end(handle, said("first part"), said("second part"), { ...completed, usage } as DriverEvent);
    const result = await waitAll(runtime, "scouts");
    expect(result.by_member[handle]).toEqual({
      handle,
      text: "first part\n\nsecond part",
      turn_ms: expect.any(Number),
      tokens_in: 16,
      tokens_out: 7,
      status: "ok",
    });
    expect(result).toMatchObject({ errors: {}, timeouts: [], combined: `---\n${handle}: first part\n\nsecond part` });
  });

  it("is never an unrelated turn of the member, before or after", async () => {
    const runtime = await team();
    const [a] = await gather(runtime, "scouts", 1);
    const handle = a ?? "";
    const { id: session } = await runtime.sessions.resolve(handle);
    await runtime.inbox.admit({ session, sender: human, body: "something else" });
    await runtime.stage.turnOf(handle);
    await ask(runtime, "scouts");
    const waiting = waitAll(runtime, "scouts");
    await runtime.stage.say(handle, "unrelated");
    await turnsEnded(runtime, 1);
    expect((await waitAll(runtime, "scouts", 0)).timeouts).toEqual([handle]);
    await runtime.stage.say(handle, "the reply");
    expect((await waiting).by_member[handle]?.text).toBe("the reply");
    await runtime.inbox.admit({ session, sender: human, body: "and now this" });
    await runtime.stage.say(handle, "later");
    await turnsEnded(runtime, 3);
    expect((await waitAll(runtime, "scouts")).by_member[handle]?.text).toBe("the reply");
  });

  it("that failed is an error with the reason, and the others still count", async () => {
    const runtime = await team();
    const [a, b, c] = pair(await gather(runtime, "scouts", 4));
    const d = (await runtime.groups.view("scouts")).members[3]?.handle ?? "";
    await ask(runtime, "scouts");
    await runtime.stage.end(a, said("half"), failed);
    await runtime.stage.turnOf(b);
    await runtime.sessions.interrupt((await runtime.sessions.resolve(b)).id);
    await runtime.stage.end(c ?? "", said("cut"), { ...completed, reason: "truncated" } as DriverEvent);
    await runtime.stage.say(d, "fine");
    const result = await waitAll(runtime, "scouts");
    expect(result.errors).toEqual({
      [a]: "its turn failed: the model is away",
      [b]: "its turn was interrupted",
      [c ?? ""]: "its reply reached a limit",
    });
    expect(result.by_member[a]).toMatchObject({ status: "error", text: "half" });
    expect(result).toMatchObject({ combined: `---\n${d}: fine`, timeouts: [] });
  });

  it.each(["before it read the message", "during its turn"])(
    "of a member that is closed %s is an error, not a wait without end",
    async (when) => {
      const runtime = await team();
      const [a, b] = pair(await gather(runtime, "scouts", 2));
      const { id: session } = await runtime.sessions.resolve(a);
      if (when.startsWith("before")) await runtime.inbox.admit({ session, sender: human, body: "busy" });
      if (when.startsWith("before")) await runtime.stage.turnOf(a);
      await ask(runtime, "scouts");
      const waiting = waitAll(runtime, "scouts");
      await runtime.stage.turnOf(a);
      await runtime.sessions.close(session, "a test");
      await runtime.stage.say(b, "here");
      expect((await waiting).errors).toEqual({ [a]: `its session was closed ${when}` });
    },
  );

  it("whose message was taken back is an error", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    const { id: session } = await runtime.sessions.resolve(a);
    await runtime.inbox.admit({ session, sender: human, body: "busy" });
    await runtime.stage.turnOf(a);
    const { members } = await ask(runtime, "scouts");
    const message = members.find((member) => member.handle === a)?.message;
    if (message === undefined) throw new Error("no message");
    await runtime.inbox.cancel(message);
    await runtime.stage.say(b, "here");
    expect((await waitAll(runtime, "scouts")).errors).toEqual({
      [a]: "its message was taken back before it was read",
    });
  });
});

describe("waiting", () => {
  it("for two groups crosswise gives each its own replies, whichever is waited for first", async () => {
    const runtime = await team();
    const [a] = await gather(runtime, "left", 1);
    const [b] = await gather(runtime, "right", 1);
    await ask(runtime, "left");
    await ask(runtime, "right");
    const right = waitAll(runtime, "right");
    await runtime.stage.say(a ?? "", "from the left");
    await turnsEnded(runtime, 1);
    await runtime.stage.say(b ?? "", "from the right");
    expect((await right).by_member).toMatchObject({ [b ?? ""]: { text: "from the right" } });
    const left = await waitAll(runtime, "left");
    expect(left.by_member).toMatchObject({ [a ?? ""]: { text: "from the left" } });
    expect(Object.keys(left.by_member)).toEqual([a]);
  });

  it("gives what is there when the time is over; who is late can be waited for again", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    await ask(runtime, "scouts");
    await runtime.stage.say(a, "quick");
    await turnsEnded(runtime, 1);
    const partial = await waitAll(runtime, "scouts", 0.02);
    expect(partial).toMatchObject({ combined: `---\n${a}: quick`, timeouts: [b], errors: {} });
    const view = await runtime.groups.view("scouts");
    expect(view.broadcast?.settled_at).toBeNull();
    expect(view.broadcast?.members.map((member) => [member.handle, member.status])).toEqual([
      [a, "ok"],
      [b, "waiting"],
    ]);
    const second = waitAll(runtime, "scouts");
    await runtime.stage.say(b, "slow");
    expect((await second).combined).toBe(`---\n${a}: quick\n\n---\n${b}: slow`);
  });

  it("for any takes the first good reply and stops the others", async () => {
    const runtime = await team();
    const [a, b, c, d] = pair(await gather(runtime, "scouts", 4));
    const busy = await runtime.sessions.resolve(d ?? "");
    await runtime.inbox.admit({ session: busy.id, sender: human, body: "busy" });
    await runtime.stage.turnOf(d ?? "");
    await ask(runtime, "scouts");
    await runtime.stage.end(a, failed);
    await turnsEnded(runtime, 1);
    await Promise.all([b, c ?? ""].map((handle) => runtime.stage.turnOf(handle)));
    const waiting = waitAny(runtime, "scouts");
    await runtime.stage.say(b, "got it");
    const result = await waiting;
    expect(result).toMatchObject({ combined: "got it", timeouts: [], errors: { [a]: expect.any(String) } });
    expect(result.by_member[c ?? ""]).toMatchObject({ status: "cancelled", text: "" });
    expect(result.by_member[d ?? ""]).toMatchObject({ status: "cancelled" });
    await waitUntil("the loser is cut", () => !runtime.stage.working(c ?? ""));
    // The one that was busy with something else goes on with that, and never sees the broadcast.
    expect(runtime.stage.working(d ?? "")).toBe(true);
    await runtime.stage.say(d ?? "", "other work");
    await turnsEnded(runtime, 4);
    const unread = (await runtime.store.read.messages.list(busy.id)).map((message) => message.status);
    expect(unread).toEqual(["done", "cancelled"]);
    expect((await runtime.groups.view("scouts")).broadcast?.settled_at).not.toBeNull();
    await ask(runtime, "scouts", { objective: "the next thing" });
  });

  it("for any leaves the others alone when told to, and a turn that answers others too", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    await ask(runtime, "scouts");
    await runtime.stage.turnOf(b);
    await runtime.stage.say(a, "first");
    expect(await waitAny(runtime, "scouts", 20, false)).toMatchObject({ combined: "first", timeouts: [] });
    expect(runtime.stage.working(b)).toBe(true);
    await runtime.stage.say(b, "second");
    expect((await waitAll(runtime, "scouts")).combined).toBe(`---\n${a}: first\n\n---\n${b}: second`);

    const shared = await runtime.sessions.resolve(b);
    await runtime.inbox.admit({ session: shared.id, sender: human, body: "busy" });
    await runtime.stage.turnOf(b);
    await ask(runtime, "scouts", { objective: "more" });
    await runtime.inbox.admit({ session: shared.id, sender: human, body: "and this, please" });
    await runtime.stage.say(b, "was busy");
    await waitUntil("the batch is running", async () => runtime.turns.current(shared.id).length === 2);
    await runtime.stage.say(a, "first again");
    await waitAny(runtime, "scouts");
    await runtime.stage.say(b, "answered both");
    await turnsEnded(runtime, 5);
    const [last] = await runtime.sessions.turns(shared.id, 1);
    expect(last).toMatchObject({ reason: "completed", text: "answered both" });
  });

  it("for any ends when all have failed, and when the time is over", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    await ask(runtime, "scouts");
    await runtime.stage.end(a, failed);
    await turnsEnded(runtime, 1);
    expect(await waitAny(runtime, "scouts", 0.02)).toMatchObject({ combined: "", timeouts: [b] });
    expect(runtime.stage.working(b)).toBe(true);
    const waiting = waitAny(runtime, "scouts");
    await runtime.stage.end(b, failed);
    const { errors, combined, timeouts } = await waiting;
    expect({ errors: Object.keys(errors).sort(), combined, timeouts }).toEqual({
      errors: [a, b].sort(),
      combined: "",
      timeouts: [],
    });
  });

  it("can be given up without harm to the broadcast", async () => {
    const runtime = await team();
    const [a] = await gather(runtime, "scouts", 1);
    await ask(runtime, "scouts");
    const leaving = new AbortController();
    const waiting = runtime.broadcasts.wait({ group: "scouts", mode: "all" }, leaving.signal);
    leaving.abort();
    await expect(waiting).rejects.toMatchObject({ code: "unavailable" });
    await runtime.stage.say(a ?? "", "still here");
    expect((await waitAll(runtime, "scouts")).errors).toEqual({});
  });

  it("is refused to a member that owes a reply itself, and where nothing was asked", async () => {
    const runtime = await team();
    await gather(runtime, "scouts", 1);
    await expect(waitAll(runtime, "scouts")).rejects.toThrow(/has had no broadcast/);
    const [member] = (await ask(runtime, "scouts")).members;
    const own = runtime.broadcasts.wait({ group: "scouts", mode: "all", caller: member?.session }, AbortSignal.any([]));
    await expect(own).rejects.toThrow(/owe group "scouts" a reply yourself/);
    await gather(runtime, "others", 1);
    const { id } = await ask(runtime, "others");
    const wrong = runtime.broadcasts.wait({ group: "scouts", mode: "all", broadcast: id }, AbortSignal.any([]));
    await expect(wrong).rejects.toThrow(/no such broadcast/);
  });
});
