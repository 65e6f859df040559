/** Commands that Aegis runs for an agent, and tools of plugins, pass the same gates as the agent's own calls. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "@aegis/client/client.ts";
import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { sharedDaemon, testProject } from "../helpers/project.ts";
import { remoteAgent, type Seat, seated, takeSeat } from "../helpers/projects/rights.ts";
import { splitRows } from "../helpers/split-rows.ts";
import { openAsk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const workTools = "aegis_enqueue, aegis_delegate, aegis_run_workflow, sessions_spawn, aegis_spawn";

const files = {
  ".aegis.yaml": `default_agent: strong
agents:
${remoteAgent("strong", "permission: full")}${[
  remoteAgent("planner", `permission: full, tools: [${workTools}]`),
  remoteAgent("partly", `permission: full, tools: [${workTools}, "Bash(git:*)"]`),
  remoteAgent("denied", "permission: full, deny_tools: [bash]"),
  remoteAgent("runner", `permission: full, tools: [${workTools}, bash]`),
].join("")}queues:
  plain: { agent: strong, max_parallel: 20 }
subagents: { max_children: 90, budget: { agents: 90 } }
`,
  ".aegis/plugins/house.ts": `
import { hook, tool, workflow, z } from "aegis";
export const gate = hook("pre_tool_use", ({ kind, tool, input }) =>
  kind === "execute" && tool === "bash" && input.command.includes("forbidden") ? { decision: "deny", reason: "the house says no" } : null);
export const shell = workflow("shell", { input: z.object({ command: z.string() }) }, async (engine, { command }) =>
  (await engine.bash(command)).stdout);
export const checked = workflow("checked", { input: z.object({ command: z.string() }) }, async (engine, { command }) =>
  engine.enqueue("plain", "hold worker", { check: command }));
export const checked_reply = workflow("checked_reply", { input: z.object({ command: z.string() }) }, async (engine, { command }) =>
  engine.send(await engine.spawn("strong"), "hello", { check: command }));
export const save_note = tool({ description: "d", permission: "write", input: z.object({ path: z.string() }) }, ({ path }) => "saved " + path);
`,
};

async function strong(): Promise<{ seat: Seat; dir: string; client: Client }> {
  const project = await testProject(files);
  const daemon = await project.start();
  return { seat: await seated(project, daemon, "strong", "first"), dir: project.dir, client: daemon.client };
}

/** Returns why the command did not run. */
type Way = (seat: Seat, client: Client, command: string) => Promise<string>;

const run =
  (name: string): Way =>
  async (seat, client, command) => {
    const { text, isError } = await seat.call("aegis_run_workflow", { name, kwargs: { command } });
    if (isError) return text;
    const { workflow_id: id } = JSON.parse(text) as { workflow_id: string };
    const read = async () => (await client.call("getRun", { path: { run: id } })).run;
    await waitUntil("the run has ended", async () => (await read()).status !== "running");
    return (await read()).error?.message ?? "";
  };

const ways: Record<string, Way> = {
  "the check of a task": async (seat, _, check) =>
    (await seat.call("aegis_enqueue", { queue: "plain", payload: "x", check })).text,
  "the check of a task with limits": async (seat, _, command) =>
    (await seat.call("aegis_enqueue", { queue: "plain", payload: "x", check: { command } })).text,
  "the check of a task that it waits for": async (seat, _, check) =>
    (await seat.call("aegis_delegate", { queue: "plain", payload: "x", check })).text,
  "the check of a subagent": async (seat, _, check) => (await seat.call("sessions_spawn", { task: "x", check })).text,
  "a command of a run": run("shell"),
  "the check of a run's task": run("checked"),
  "the check of a run's message": run("checked_reply"),
};

const of = splitRows(Object.entries(ways), ([what]) =>
  what.includes("of a run") || what.startsWith("a command") ? "run" : "work",
);

for (const [rows, options] of [
  [of.quick, {}],
  [of.slow, { tags: "slow" }],
] as const) {
  it.each(rows)("denies %s where a gate denies the agent's own command", options, async (_, way) => {
    const { seat, dir, client } = await strong();
    expect(await way(seat, client, "touch forbidden")).toContain("the house says no");
    expect(existsSync(join(dir, "forbidden"))).toBe(false);
  });

  it.each(rows)("asks a person before %s writes to the files that decide", options, async (_, way) => {
    const { seat, dir, client } = await strong();
    const before = await readFile(join(dir, ".aegis.yaml"), "utf8");
    const called = way(seat, client, "printf 'asks: {}' >> .aegis.yaml");
    const ask = await openAsk(client);
    expect(ask).toMatchObject({ gate: true, options: ["allow", "deny"], detail: { command: expect.any(String) } });
    expect(ask.reason).toContain("the command names .aegis.yaml");
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", digest: ask.digest } });
    expect(await called).toContain("was not approved");
    expect(await readFile(join(dir, ".aegis.yaml"), "utf8")).toBe(before);
  });
}

describe("an agent without bash", () => {
  const shared = sharedDaemon(files);
  const seatOf = (agent: string, name: string) => seated(shared.project, shared.daemon, agent, name);
  const cases = Object.entries(ways).flatMap(([what, way]) =>
    ["planner", "partly", "denied"].map((agent) => ({ what, way, agent })),
  );

  const cells = splitRows(cases, ({ what }) => what);
  it.each(cells.quick)("($agent) has no command run by $what", isRefused);
  it.each(cells.slow)("($agent) has no command run by $what", { tags: "slow" }, isRefused);

  async function isRefused({ agent, what, way }: (typeof cases)[number]): Promise<void> {
    const name = `${agent}-${Object.keys(ways).indexOf(what)}`;
    const seat = await seatOf(agent, name);
    expect(await way(seat, shared.daemon.client, `touch made-by-${name}`)).toMatch(/bash/);
    expect(existsSync(join(shared.project.dir, `made-by-${name}`))).toBe(false);
  }

  it("has none run by what it starts either", { tags: "slow" }, async () => {
    const lead = await seatOf("planner", "lead");
    await lead.call("aegis_spawn", { agent: "strong", prompt: "hold below" });
    const below = await takeSeat(shared.project, shared.daemon, "below", newId("ses", 1));
    expect(await ways["the check of a task"]?.(below, shared.daemon.client, "touch made-below")).toMatch(/bash/);
    await lead.call("aegis_enqueue", { queue: "plain", payload: "hold worker-below" });
    const worker = await takeSeat(shared.project, shared.daemon, "worker-below", newId("ses", 1));
    expect(await ways["a command of a run"]?.(worker, shared.daemon.client, "touch made-below")).toMatch(/bash/);
    expect(existsSync(join(shared.project.dir, "made-below"))).toBe(false);
  });

  it("has none run by a run for which a person names it as the host", async () => {
    const { client } = shared.daemon;
    const { session } = await client.call("createSession", { body: { agent: "planner" } });
    const body = { args: { command: "touch made-for-host" }, host: session.handle };
    const { run: started } = await client.call("startRun", { path: { workflow: "shell" }, body });
    const read = async () => (await client.call("getRun", { path: { run: started.id } })).run;
    await waitUntil("the run has ended", async () => (await read()).status !== "running");
    expect((await read()).error?.message).toBe(
      'the agent "planner" may not run commands (the tool bash): its tools do not name it',
    );
  });

  it.each(Object.entries(ways))("but with it in its tools has one run by %s", { tags: "slow" }, async (what, way) => {
    const seat = await seatOf("runner", `runner-${Object.keys(ways).indexOf(what)}`);
    expect(await way(seat, shared.daemon.client, "true")).not.toMatch(/bash/);
  });
});

it("asks a person before a run that a program started runs a command", async () => {
  const project = await testProject({
    ...files,
    ".aegis.yaml": `default_agent: worker\nagents:\n${remoteAgent("worker", "permission: write")}`,
  });
  const { client } = await project.start();
  const { token, url } = await client.call("addClient", { body: { name: "cursor" } });
  const program = createClient({ url: new URL(url).origin, token });
  const start = async (body: { host?: string; within?: string }) => {
    const args = { command: "touch planted" };
    const path = { workflow: "shell" };
    return (await program.call("startRun", { path, body: { args, ...body } as { args: typeof args } })).run.id;
  };
  const read = async (run: string) => (await client.call("getRun", { path: { run } })).run;
  const { session } = await client.call("createSession", { body: { agent: "worker" } });
  const path = { workflow: "shell" };
  const { run: outer } = await client.call("startRun", { path, body: { args: { command: "true" } } });
  await waitUntil("the run of a person has ended without an ask", async () => (await read(outer.id)).status === "ok");

  for (const body of [{}, { host: session.handle }, { within: outer.id }]) {
    const run = await start(body);
    const ask = await openAsk(client);
    expect(ask.detail).toMatchObject({ command: "touch planted" });
    await expect(
      program.call("answerAsk", { path: { ask: ask.id }, body: { choice: "allow", digest: ask.digest } }),
    ).rejects.toMatchObject({ code: "forbidden" });
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", digest: ask.digest } });
    await waitUntil("the run has ended", async () => (await read(run)).status !== "running");
    expect((await read(run)).error?.message).toContain("was not approved");
  }
  expect(existsSync(join(project.dir, "planted"))).toBe(false);

  const run = await start({});
  const asked = await openAsk(client);
  await client.call("answerAsk", { path: { ask: asked.id }, body: { choice: "allow", digest: asked.digest } });
  await waitUntil("the run has ended", async () => (await read(run)).status === "ok");
  expect(existsSync(join(project.dir, "planted"))).toBe(true);
  await waitUntil("the sessions of the runs are closed", async () => {
    const { sessions } = await client.call("listSessions");
    return sessions.length === 1;
  });
});

it("asks a person before a plugin's tool gets the path of a file that decides", { tags: "slow" }, async () => {
  const { seat, client } = await strong();
  expect(await seat.call("save_note", { path: "notes/today.md" })).toMatchObject({ text: "saved notes/today.md" });
  const called = seat.call("save_note", { path: "notes/../.aegis/plugins/house.ts" });
  const ask = await openAsk(client);
  expect(ask).toMatchObject({ gate: true, tool: "save_note", options: ["allow", "deny"] });
  await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", digest: ask.digest } });
  expect(await called).toMatchObject({ isError: true });
});
