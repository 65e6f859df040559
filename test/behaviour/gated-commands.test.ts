/** Commands that Aegis runs for an agent, and tools of plugins, pass the same gates as the agent's own calls. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "@aegis/client/client.ts";
import { expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { remoteAgent, type Seat, seated } from "../helpers/projects/rights.ts";
import { openAsk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": `default_agent: strong
agents:
${remoteAgent("strong", "permission: full")}queues:
  plain: { agent: strong }
`,
  ".aegis/plugins/house.ts": `
import { hook, tool, workflow, z } from "aegis";
export const gate = hook("pre_tool_use", ({ kind, tool, input }) =>
  kind === "execute" && tool === "bash" && input.command.includes("forbidden") ? { decision: "deny", reason: "the house says no" } : null);
export const shell = workflow("shell", { input: z.object({ command: z.string() }) }, async (engine, { command }) =>
  (await engine.bash(command)).stdout);
export const checked = workflow("checked", { input: z.object({ command: z.string() }) }, async (engine, { command }) =>
  engine.enqueue("plain", "hold worker", { check: command }));
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
    const { text } = await seat.call("aegis_run_workflow", { name, kwargs: { command } });
    const { workflow_id: id } = JSON.parse(text) as { workflow_id: string };
    const read = async () => (await client.call("getRun", { path: { run: id } })).run;
    await waitUntil("the run has ended", async () => (await read()).status !== "running");
    return (await read()).error?.message ?? "";
  };

const ways: Record<string, Way> = {
  "the check of a task": async (seat, _, check) =>
    (await seat.call("aegis_enqueue", { queue: "plain", payload: "x", check })).text,
  "the check of a subagent": async (seat, _, check) => (await seat.call("sessions_spawn", { task: "x", check })).text,
  "a command of a run": run("shell"),
  "the check of a run's task": run("checked"),
};

it.each(Object.entries(ways))("denies %s where a gate denies the agent's own command", async (_, way) => {
  const { seat, dir, client } = await strong();
  expect(await way(seat, client, "touch forbidden")).toContain("the house says no");
  expect(existsSync(join(dir, "forbidden"))).toBe(false);
});

it.each(Object.entries(ways))("asks a person before %s writes to the files that decide", async (_, way) => {
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

it("asks a person before a plugin's tool gets the path of a file that decides", async () => {
  const { seat, client } = await strong();
  expect(await seat.call("save_note", { path: "notes/today.md" })).toMatchObject({ text: "saved notes/today.md" });
  const called = seat.call("save_note", { path: "notes/../.aegis/plugins/house.ts" });
  const ask = await openAsk(client);
  expect(ask).toMatchObject({ gate: true, tool: "save_note", options: ["allow", "deny"] });
  await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", digest: ask.digest } });
  expect(await called).toMatchObject({ isError: true });
});
