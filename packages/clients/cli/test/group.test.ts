import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { GroupResult, GroupView } from "@aegis/contract/group.ts";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { testProject } from "@aegis/test/helpers/project.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const playbook = `
rules:
  - name: lead
    when: '/^lead (\\S+)/'
    steps:
      - tool: aegis_group_spawn
        input: { group: "{1}", preset: pair }
        save: spawned
      - tool: aegis_group_broadcast
        input: { group: "{1}", objective: quick, output_format: text, tool_guidance: none, boundaries: none }
        save: asked
      - tool: aegis_group_wait_all
        input: { group: "{1}", timeout: 20 }
        save: result
      - say: "{result}"
  - name: a fast and a slow member
    when: '/^objective: race/'
    steps: [{ wait: { gate: "gates/{handle}" } }, { say: "{handle} made it" }]
  - name: fail
    when: '/^objective: fail/'
    steps: [{ fail: "out of ideas" }]
  - name: anything else
    when: '/^objective: (.*)/'
    steps: [{ say: "{handle} heard {1}" }]
  - name: human
    when: always
    steps: [{ say: "you said: {text}" }]
`;

const files = {
  ".aegis.yaml": [
    "default_agent: one",
    "agents:",
    "  one: { harness: scripted, playbook: playbook.yaml }",
    "  two: { harness: scripted, playbook: playbook.yaml }",
    "groups:",
    "  defaults: { timeout: 20 }",
    "  presets:",
    "    pair: { agents: [one, two], reducer: join_by_handle, timeout: 15 }",
    "",
  ].join("\n"),
  "playbook.yaml": playbook,
};

describe("aegis group", () => {
  it("gathers, asks, waits, shows and dissolves", async () => {
    const project = await aegisProject(files);
    expect((await project.aegis("group", "list")).stdout).toContain("No groups.");
    expect(await project.aegis("group", "spawn", "crew", "one", "--handle", "keen-eye")).toMatchObject({
      code: 0,
      stdout: "keen-eye\n",
    });
    expect((await project.aegis("group", "spawn", "crew", "two", "--handle", "calm-eye")).code).toBe(0);
    expect((await project.aegis("group", "wait", "crew")).stderr).toContain("has had no broadcast");
    expect((await project.aegis("group", "broadcast", "crew", "look around")).stdout).toMatch(/^brd_\w+\n$/);
    const waited = await project.aegis("group", "wait", "crew");
    expect(waited.code).toBe(0);
    expect(waited.stdout.split("\n\n").sort()).toEqual([
      expect.stringContaining("calm-eye: calm-eye heard look around"),
      expect.stringContaining("keen-eye: keen-eye heard look around"),
    ]);
    const { group } = await project.json<{ group: GroupView }>("group", "status", "crew");
    expect(group).toMatchObject({ reducer: "concat", timeout: 20, broadcast: { objective: "look around" } });
    expect((await project.aegis("group", "list")).stdout).toMatch(/crew\s+\S.*2\/2\s+keen-eye, calm-eye/);
    expect((await project.aegis("group", "status", "crew")).stdout).toMatch(/calm-eye\s+two\s+ready\s+ok/);
    expect((await project.aegis("group", "dissolve", "crew")).stdout).toBe(
      "dissolved crew, closed keen-eye, calm-eye\n",
    );
    expect((await project.json<{ sessions: unknown[] }>("ps")).sessions).toEqual([]);
  });

  it("uses a preset, tells failures apart, and takes the first good reply", { tags: "slow" }, async () => {
    const project = await aegisProject(files);
    const { handles } = await project.json<{ handles: string[] }>("group", "spawn", "crew", "--preset", "pair");
    const [a = "", b = ""] = handles;
    await project.aegis("group", "broadcast", "crew", "race");
    const racing = project.start("group", "wait", "crew", "--any", "--json");
    const late = await project.aegis("group", "wait", "crew", "--timeout", "200ms");
    expect(late).toMatchObject({ code: 1, stdout: "{}\n" });
    expect(late.stderr).toContain(`no reply yet: ${[a, b].sort().join(", ")}`);
    expect((await project.aegis("group", "broadcast", "crew", "more")).stderr).toContain("still answers brd_");
    await openGate(project.root, b);
    const { stdout, code } = await racing.ended;
    expect(code).toBe(0);
    const result = JSON.parse(stdout) as GroupResult;
    expect(result).toMatchObject({ combined: `${b} made it`, timeouts: [], errors: {} });
    expect(result.by_member[a]?.status).toBe("cancelled");
    await waitUntil("the loser is idle", async () => {
      const { group } = await project.json<{ group: GroupView }>("group", "status", "crew");
      return group.members.every((member) => member.state === "ready");
    });
    await project.pipe("fail", "group", "broadcast", "crew", "-");
    const failed = await project.aegis("group", "wait", "crew");
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(`${a}: its turn failed: out of ideas`);
  });

  it("says what is wrong, with the nearest name", { tags: "slow" }, async () => {
    const project = await aegisProject(files);
    await project.aegis("group", "spawn", "crew", "one");
    const cases: [string[], number, RegExp][] = [
      [["group", "status", "crw"], 1, /no group "crw" \(did you mean "crew"\?\)/],
      [["group", "spawn", "crew", "oen"], 1, /no agent "oen" \(did you mean "one"\?\)/],
      [["group", "spawn", "crew"], 2, /agents or --preset/],
      [["group", "spawn", "crew", "--preset", "piar"], 1, /did you mean "pair"/],
      [["group", "spawn", "Crew!", "one"], 2, /<group>: expected lower-case/],
      [["group", "wait", "crew", "--broadcast", "x"], 2, /is not a broadcast's id/],
    ];
    for (const [args, code, stderr] of cases) {
      const result = await project.aegis(...args);
      expect(result.code, args.join(" ")).toBe(code);
      expect(result.stderr).toMatch(stderr);
    }
    await project.aegis("group", "broadcast", "crew", "quick");
    const reducer = await project.aegis("group", "wait", "crew", "--reducer", "concta");
    expect(reducer.stderr).toContain('did you mean "concat"?');
  });
});

describe("in the daemon", () => {
  it("an agent leads a group over the plane", async () => {
    const project = await testProject(files);
    const { client } = await project.start();
    const { session, receipt } = await client.call("createSession", { body: { prompt: "lead crew" } });
    await waitUntil("the lead has answered", async () => {
      const { message } = await client.call("getMessage", { path: { message: receipt?.message ?? ("" as never) } });
      return message.status === "done";
    });
    const { turns } = await client.call("listTurns", { path: { session: session.id } });
    const result = JSON.parse(turns[0]?.text ?? "") as GroupResult;
    const { group } = await client.call("getGroup", { path: { group: "crew" } });
    expect(result.combined).toEqual(
      Object.fromEntries(group.members.map(({ handle }) => [handle, `${handle} heard quick`])),
    );
    expect(result).toMatchObject({ errors: {}, timeouts: [], broadcast_id: group.broadcast?.id });
  });

  it("killed when half have answered, it loses nothing", async () => {
    const project = await testProject(files);
    const first = await project.start();
    const path = { group: "crew" };
    const { handles } = await first.client.call("spawnGroup", { path, body: { agents: ["one", "two", "one"] } });
    const { broadcast } = await first.client.call("broadcastGroup", { path, body: { objective: "race" } });
    const [a = "", b = "", c = ""] = handles;
    await project.open(a);
    await waitUntil("one has answered", async () => {
      const { timeouts } = await first.client.call("waitGroup", { path, body: { timeout: 0 } });
      return timeouts.length === 2;
    });
    await first.kill();

    const { client } = await project.start();
    const half = await client.call("waitGroup", { path, body: { timeout: 0 } });
    expect(half).toMatchObject({ broadcast_id: broadcast.id, errors: {}, timeouts: [b, c].sort() });
    expect(half.by_member[a]).toMatchObject({ text: `${a} made it`, status: "ok" });
    const waiting = client.call("waitGroup", { path, body: { timeout: 20, reducer: "join_by_handle" } });
    await project.open(c);
    await project.open(b);
    const whole = await waiting;
    expect(whole.combined).toEqual(Object.fromEntries(handles.map((handle) => [handle, `${handle} made it`])));
    expect(whole).toMatchObject({ errors: {}, timeouts: [] });
    const { by_member } = await client.call("getBroadcast", { path: { broadcast: broadcast.id } });
    expect(by_member).toEqual(whole.by_member);
    const { events } = await client.call("listEvents", { query: { limit: 1000 } });
    expect(events.filter((event) => event.type === "group.replied")).toHaveLength(3);
  });
});

async function openGate(root: string, gate: string): Promise<void> {
  await mkdir(join(root, "gates"), { recursive: true });
  await writeFile(join(root, "gates", gate), "");
}
