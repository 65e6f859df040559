import { newId } from "@aegis/contract/ids.ts";
import { eventsOfType, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { describe, expect, it } from "vitest";
import { ask, gather, human, pair, team, waitAll } from "./team.ts";

describe("a group", () => {
  it("is made by its first members and grows by the next", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    const { handles } = await runtime.groups.spawn({ group: "scouts", agents: ["offline"], handle: "keen-eye" });
    expect(handles).toEqual(["keen-eye"]);
    const view = await runtime.groups.view("scouts");
    expect(view.members.map((member) => [member.handle, member.agent, member.state])).toEqual([
      [a, "offline", "ready"],
      [b, "offline", "ready"],
      ["keen-eye", "offline", "ready"],
    ]);
    expect(await runtime.groups.list()).toEqual([view]);
    expect(await eventsOfType(runtime.store, "group.created")).toMatchObject([
      { data: { group: { name: "scouts" }, members: [{ handle: a }, { handle: b }] } },
    ]);
    expect(await eventsOfType(runtime.store, "group.joined")).toMatchObject([
      { data: { name: "scouts", members: [{ handle: "keen-eye" }] } },
    ]);
  });

  it("asked for again under the same key is made once, also after it was dissolved", async () => {
    const runtime = await team();
    const wanted = { group: "scouts", agents: ["offline", "offline"], key: "step-1" };
    const first = await runtime.groups.spawn(wanted);
    expect((await runtime.groups.spawn(wanted)).handles).toEqual(first.handles);
    expect((await runtime.groups.view("scouts")).members).toHaveLength(2);
    await runtime.groups.dissolve("scouts");
    expect((await runtime.groups.spawn(wanted)).group.dissolved_at).not.toBeNull();
    expect(await runtime.groups.list()).toEqual([]);
  });

  it("starts all of its members or none", async () => {
    const runtime = await team();
    const unknown = runtime.groups.spawn({ group: "scouts", agents: ["offline", "ofline"] });
    await expect(unknown).rejects.toThrow(/no agent "ofline" \(did you mean "offline"\?\)/);
    const two = runtime.groups.spawn({ group: "scouts", agents: ["offline", "offline"], handle: "keen-eye" });
    await expect(two).rejects.toMatchObject({ code: "invalid" });
    await expect(runtime.groups.spawn({ group: "scouts" })).rejects.toThrow(/either agents or a preset/);
    await expect(runtime.groups.spawn({ group: "scouts", preset: "team" })).rejects.toThrow(/no preset "team"/);
    await expect(runtime.groups.spawn({ group: "scouts", preset: "constructor" })).rejects.toThrow(/no preset/);
    expect(await runtime.sessions.list({ closed: true, client: "test" })).toEqual([]);
    expect(await runtime.groups.list()).toEqual([]);
  });

  it("that is not there is told with the nearest name", async () => {
    const runtime = await team();
    await gather(runtime, "scouts", 1);
    const near = /no group "scoutz" \(did you mean "scouts"\?\)/;
    await expect(runtime.groups.view("scoutz")).rejects.toThrow(near);
    await expect(runtime.groups.dissolve("scoutz")).rejects.toThrow(near);
    await expect(ask(runtime, "scoutz")).rejects.toThrow(near);
    await expect(waitAll(runtime, "scoutz")).rejects.toThrow(near);
  });

  it("closes its members when it is dissolved, ends its broadcast, and frees its name", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    await ask(runtime, "scouts");
    const waiting = waitAll(runtime, "scouts");
    await runtime.stage.say(a, "here");
    await runtime.stage.turnOf(b);
    await turnsEnded(runtime, 1);
    const { closed } = await runtime.groups.dissolve("scouts");
    expect(closed).toEqual([a, b]);
    expect(await waiting).toMatchObject({
      by_member: { [a]: { text: "here", status: "ok" } },
      errors: { [b]: "its session was closed during its turn" },
      timeouts: [],
    });
    // What was said can still be read.
    expect((await waitAll(runtime, "scouts")).combined).toBe(`---\n${a}: here`);
    await expect(runtime.groups.view("scouts")).rejects.toMatchObject({ code: "not_found" });
    await gather(runtime, "scouts", 1);
    await expect(waitAll(runtime, "scouts")).rejects.toThrow(/has had no broadcast/);
    expect(await eventsOfType(runtime.store, "group.dissolved")).toHaveLength(1);
  });

  it("cannot be dissolved by its own member", async () => {
    const runtime = await team();
    const [a] = await gather(runtime, "scouts", 1);
    const member = await runtime.sessions.resolve(a ?? "");
    await expect(runtime.groups.dissolve("scouts", member.id)).rejects.toThrow(/you are a member/);
    expect((await runtime.groups.view("scouts")).members[0]?.state).toBe("ready");
  });

  it("tells what happens to it as events, each with its member where it has one", async () => {
    const runtime = await team();
    const [a] = await gather(runtime, "scouts", 1);
    const { id } = await ask(runtime, "scouts");
    await runtime.stage.say(a ?? "", "done");
    await waitAll(runtime, "scouts");
    const { id: session } = await runtime.sessions.resolve(a ?? "");
    expect(await eventsOfType(runtime.store, "group.broadcast")).toMatchObject([
      { session: null, data: { broadcast: id, objective: "find the bug", members: [{ handle: a, session }] } },
    ]);
    const [turn] = await runtime.sessions.turns(session, 1);
    expect(await eventsOfType(runtime.store, "group.replied")).toMatchObject([
      { session, data: { broadcast: id, handle: a, status: "ok", reply: turn?.id, error: null } },
    ]);
    expect(await eventsOfType(runtime.store, "group.settled")).toMatchObject([
      { session: null, data: { broadcast: id, counts: { waiting: 0, ok: 1, error: 0, cancelled: 0 } } },
    ]);
  });
});

describe("over the plane", () => {
  it("an agent gathers a group, asks it, waits for it and dissolves it", async () => {
    const runtime = await team();
    await runtime.sessions.create({ handle: "lead-agent", prompt: "lead them" });
    const { spec, signal } = await runtime.stage.turnOf("lead-agent");
    const call = async (name: string, input: unknown, key = name) => {
      const { output, is_error } = await spec.host.tools.call(name, input, { key, signal });
      return { output, is_error, value: is_error ? null : JSON.parse(output) };
    };
    const profiles = ["offline", "offline"];
    const spawned = await call("aegis_group_spawn", { group: "scouts", profiles });
    expect(spawned.value).toEqual({ handles: [expect.any(String), expect.any(String)], group: "scouts" });
    expect((await call("aegis_group_spawn", { group: "scouts", profiles })).value).toEqual(spawned.value);
    const [a, b] = pair(spawned.value.handles);
    const brief = { objective: "o", output_format: "f", tool_guidance: "t", boundaries: "b" };
    const asked = await call("aegis_group_broadcast", { group: "scouts", ...brief });
    expect(asked.value).toEqual({ broadcast_id: expect.stringMatching(/^brd_/) });
    expect((await call("aegis_group_broadcast", { group: "scouts", ...brief })).value).toEqual(asked.value);
    expect((await call("aegis_group_broadcast", { group: "scouts", ...brief }, "another")).output).toMatch(
      /still answers brd_/,
    );
    const lie = await call("aegis_group_broadcast", { group: "scouts", ...brief, from_handle: "somebody-else" }, "lie");
    expect(lie.output).toContain("is not you");
    expect((await call("aegis_group_broadcast", { group: "scouts", objective: "o" })).is_error).toBe(true);

    await runtime.stage.say(a, "one");
    await turnsEnded(runtime, 1);
    expect((await call("aegis_group_status", { group: "scouts" })).value).toEqual({
      group: "scouts",
      members: [
        { handle: a, agent_slug: "offline", state: "ready", reply: "ok" },
        { handle: b, agent_slug: "offline", state: "working", reply: "waiting" },
      ],
      broadcast: { ...asked.value, open: true, objective: "o" },
    });
    expect((await call("aegis_group_wait_all", { group: "scouts", timeout: 0 })).value.timeouts).toEqual([b]);
    expect((await call("aegis_group_wait_all", { group: "scouts", reducer: "concate" })).output).toContain(
      'did you mean "concat"?',
    );
    expect((await call("aegis_group_wait_any", { group: "scouts" })).value).toEqual({
      ...asked.value,
      by_member: {
        [a]: { handle: a, text: "one", turn_ms: expect.any(Number), tokens_in: null, tokens_out: null, status: "ok" },
        [b]: { handle: b, text: "", turn_ms: null, tokens_in: null, tokens_out: null, status: "cancelled" },
      },
      combined: "one",
      errors: {},
      timeouts: [],
    });
    expect((await call("aegis_group_dissolve", { group: "scouts" })).value).toEqual({
      group: "scouts",
      closed: [a, b],
    });
    expect((await call("aegis_group_status", { group: "scouts" })).output).toContain('no group "scouts"');
  });

  it("a chain of agents that ask each other's groups ends at the limit of hops", async () => {
    const runtime = await team();
    const [lead] = await gather(runtime, "leads", 1);
    await gather(runtime, "scouts", 1);
    const caller = await runtime.sessions.resolve(lead ?? "");
    await runtime.inbox.admit({
      session: caller.id,
      sender: human,
      body: "go",
      cause: { chain: newId("msg", 1), hops: 19 },
    });
    const { spec, signal } = await runtime.stage.turnOf(lead ?? "");
    const input = { group: "scouts", objective: "o", output_format: "f", tool_guidance: "t", boundaries: "b" };
    const { output, is_error } = await spec.host.tools.call("aegis_group_broadcast", input, { key: "k", signal });
    expect(is_error).toBe(true);
    expect(output).toContain("chain of agents");
  });
});
