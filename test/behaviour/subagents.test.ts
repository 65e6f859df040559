import { describe, expect, it } from "vitest";
import { sharedDaemon } from "../helpers/project.ts";
import { announcements, delegating, idle, subagent, subagents } from "../helpers/projects/subagents.ts";
import { createSession, hasSaid, refusal, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const shared = sharedDaemon(delegating);

describe("in the built daemon", () => {
  it("three levels report upwards, each result once", async () => {
    const { client } = shared.daemon;
    const root = await createSession(client);
    expect(await talk(client, root.id, "spawn top with spawn mid with what is it")).toMatch(
      /^Spawned: [0-9a-f]{12} \(agent: dev, label: top\)$/,
    );
    await hasSaid(client, root.id, "top is done: mid is done: you said: what is it");
    expect(await announcements(client, root.id)).toHaveLength(1);
    const [top, mid] = [await subagent(client, "top"), await subagent(client, "mid")];
    expect(top).toMatchObject({ parent: root.id, depth: 1, status: "done", announced_to: root.id });
    expect(mid).toMatchObject({ parent: top.session, root: root.id, depth: 2, status: "done" });
  });

  it("agents cannot go deeper than the limit, and are told so", async () => {
    const { client } = shared.daemon;
    const root = await createSession(client);
    await talk(client, root.id, "spawn one with spawn two with spawn three with x");
    await waitUntil("the result is back", async () => (await announcements(client, root.id)).length === 1);
    const [told] = await announcements(client, root.id);
    expect(told).toContain("two is done: sessions_spawn failed: ");
    expect(told).toContain(
      "Tool 'sessions_spawn' is not available to agent 'dev': you are at depth 2, and agents at depth 2",
    );
    expect((await subagents(client)).some((one) => one.label === "three")).toBe(false);
  });

  it("a person sees and ends them over the API, twice without harm", async () => {
    const { client } = shared.daemon;
    const root = await createSession(client);
    await talk(client, root.id, "spawn upper with spawn lower with hold never");
    const lower = await subagent(client, "lower");
    await hasSaid(client, lower.session, "holding never");
    const upper = await subagent(client, "upper");
    const kill = () => client.call("killSubagent", { path: { run_id: upper.run_id } });
    expect(await kill()).toEqual({ run_id: upper.run_id, status: "killed", killed: 2 });
    expect(await kill()).toEqual({ run_id: upper.run_id, status: "killed", killed: 0 });
    expect((await client.call("getSession", { path: { session: lower.session } })).session.state).toBe("closed");
    const [told] = await announcements(client, root.id);
    expect(told).toContain('[Subagent Complete] "upper" (killed). Result: killed by a person');
    const unknown = await refusal(client.call("getSubagent", { path: { run_id: "000000000000" } }));
    expect(unknown.code).toBe("not_found");
  });

  it("an agent ends its own with a call", async () => {
    const { client } = shared.daemon;
    const root = await createSession(client);
    await talk(client, root.id, "spawn victim with hold never");
    expect(JSON.parse(await talk(client, root.id, "kill victim"))).toMatchObject({ status: "killed", killed: 1 });
    expect(await announcements(client, root.id)).toEqual([]);
  });

  it("pooled agents keep their session from one task to the next", async () => {
    const { client } = shared.daemon;
    const root = await createSession(client);
    const first = JSON.parse(await talk(client, root.id, "use helper for this")) as {
      agent_id: string;
      result: string;
    };
    expect(first.result).toBe("you said: Execute this task: this");
    const second = JSON.parse(await talk(client, root.id, "use helper for that")) as { agent_id: string };
    expect(second.agent_id).toBe(first.agent_id);
    const { max, agents } = await client.call("listPool");
    expect(max).toBe(15);
    expect(agents).toMatchObject([
      { key: "agent-helper", session: first.agent_id, state: "idle", uses: 2, stale: false },
    ]);
    expect(await talk(client, root.id, "use nobody for this")).toContain("validation_error");
  });

  it("the caller's interrupt reaches the pooled turn", async () => {
    const { client } = shared.daemon;
    const root = await createSession(client);
    const { receipt } = await client.call("sendMessage", {
      path: { session: root.id },
      body: { text: "use helper for hold long" },
    });
    await waitUntil("the helper is at work", async () => (await client.call("listPool")).agents[0]?.state === "busy");
    const [pooled] = (await client.call("listPool")).agents;
    if (pooled === undefined) throw new Error("nobody is pooled");
    await hasSaid(client, pooled.session, "holding long");
    await client.call("interruptSession", { path: { session: root.id } });
    await waitUntil("the helper is free", async () => (await client.call("listPool")).agents[0]?.lease === null);
    const { turns } = await client.call("listTurns", { path: { session: pooled.session } });
    expect(turns[0]?.reason).toBe("cancelled");
    await idle(client, root.id);
    expect(receipt.outcome).toBe("landed");
  });
});
