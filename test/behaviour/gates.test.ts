/** Gates that are recorded stay shut when their plugin is not loaded as it was, until a person decides. */
import { appendFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "@aegis/client/client.ts";
import type { MissingGate } from "@aegis/contract/plugin.ts";
import { inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { describe, expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { agreeToStore } from "../helpers/cluster.ts";
import { splitRows } from "../helpers/split-rows.ts";
import { createSession, endings, eventsOf, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const config = "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml, permission: full }\n";
const playbook = `
rules:
  - name: a tool of its own
    when: '/^list (\\S+)/'
    steps: [{ tool: list_files, input: { glob: "{1}" }, save: files }, { say: "{files}" }]
  - name: a tool of the plane
    when: '/^find (\\S+)/'
    steps: [{ tool: search_skills, input: { query: "{1}" }, save: found }, { say: "{found}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`;
const gate = `import { hook } from "aegis";
export const strictly = hook("pre_tool_use", ({ input }) =>
  JSON.stringify(input).includes("secret") ? { decision: "deny", reason: "kept secret" } : null);
`;
const files = {
  ".aegis.yaml": config,
  "playbook.yaml": playbook,
  ".aegis/plugins/house/plugin.toml": '[plugin]\nname = "house"\nversion = "1.0.0"\n',
  ".aegis/plugins/house/gate.ts": gate,
};
const refused = /guards this and is not loaded as recorded.*aegis plugin accept house.*aegis plugin drop house/;

async function guarded(more: Record<string, string> = {}): Promise<AegisProject> {
  const project = await aegisProject({ ...files, ...more }, { trusted: false });
  expect((await project.aegis("trust", "--yes")).code).toBe(0);
  expect((await project.aegis("up")).code).toBe(0);
  return project;
}

async function clientOf({ root, env }: AegisProject): Promise<Client> {
  const found = await inspectDaemonFile(root, env.HOME ?? "");
  if (found.state !== "live") throw new Error("no daemon runs");
  return createClient(found.file);
}

async function missing(client: Client): Promise<MissingGate[]> {
  return (await client.call("listPlugins")).missing_gates;
}

async function killed(project: AegisProject): Promise<Client> {
  const pid = await project.daemonPid();
  if (pid === null) throw new Error("no daemon runs");
  process.kill(pid, "SIGKILL");
  await waitUntil("the daemon is gone", async () => (await project.daemonPid()) === null);
  expect((await project.aegis("up")).code).toBe(0);
  return clientOf(project);
}

/** Ways to be rid of a gate, for something that can write the project's files. */
const ways: Record<string, (root: string) => Promise<void>> = {
  "its file is changed by a byte": (root) => appendFile(join(root, ".aegis/plugins/house/gate.ts"), " "),
  "it is denied": (root) => appendFile(join(root, ".aegis.yaml"), "plugins: { deny: [house] }\n"),
  "plugins are switched off": (root) => appendFile(join(root, ".aegis.yaml"), "plugins: { enabled: false }\n"),
  "it is deleted": (root) => rm(join(root, ".aegis/plugins/house"), { recursive: true }),
  "plugins are looked for elsewhere": (root) => appendFile(join(root, ".aegis.yaml"), "plugin_dirs: [other]\n"),
  "its manifest is broken": (root) => writeFile(join(root, ".aegis/plugins/house/plugin.toml"), "[plugin"),
};

describe("what a gate guards is refused", () => {
  const { quick, slow } = splitRows(Object.entries(ways), () => "way");
  it.each(quick)("when %s, at once and after a crash", refusesOnce);
  it.each(slow)("when %s, at once and after a crash", { tags: "slow" }, refusesOnce);

  async function refusesOnce(_: string, tamper: (root: string) => Promise<unknown>): Promise<void> {
    const project = await guarded();
    let client = await clientOf(project);
    const live = await createSession(client);
    expect(await talk(client, live.id, "list secret")).toContain("kept secret");
    expect(await talk(client, live.id, "list *.md")).not.toMatch(refused);

    await tamper(project.root);
    await waitUntil("the gate is missing", async () => (await missing(client)).length === 1, 20_000);
    expect(await talk(client, live.id, "list *.md")).toMatch(refused);
    expect(await talk(client, live.id, "find anything")).toMatch(refused);
    expect((await eventsOf(client, "plugin.gates_missing")).map(({ data }) => data.plugin)).toEqual(["house"]);

    client = await killed(project);
    const { id } = await createSession(client);
    expect(await talk(client, id, "list *.md")).toMatch(refused);
    expect((await project.aegis("status")).stdout).toMatch(/gates +house: pre_tool_use \(strictly\)/);
    expect((await project.aegis("doctor")).stdout).toContain("gates of house are missing");

    expect((await project.aegis("plugin", "drop", "house")).code).not.toBe(0);
    expect(await talk(client, id, "list *.md")).toMatch(refused);
    expect((await project.aegis("plugin", "drop", "house", "--yes")).code).toBe(0);
    expect(await missing(client)).toEqual([]);
    expect(await talk(client, id, "list *.md")).not.toMatch(refused);
  }

  it("when it is removed while no daemon runs, or no longer loads", { tags: "slow" }, async () => {
    const project = await guarded();
    expect((await project.aegis("down")).code).toBe(0);
    const file = join(project.root, ".aegis/plugins/house/gate.ts");
    await writeFile(file, 'throw new Error("not today");\n');
    expect((await project.aegis("plugin", "trust", "house", "--yes")).code).toBe(0);
    expect((await project.aegis("up")).code).toBe(0);
    const client = await clientOf(project);
    // The list waits for plugins that are still being loaded; `up` does so only for a moment.
    expect(await missing(client)).toHaveLength(1);
    expect((await project.aegis("up")).stdout).toContain("Gates of house are missing");
    const { id } = await createSession(client);
    expect(await talk(client, id, "list *.md")).toMatch(/not today/);
    const accepted = await project.aegis("plugin", "accept", "house", "--yes");
    expect(accepted.code).not.toBe(0);
    expect(accepted.stderr).toContain("cannot be accepted");
    await writeFile(file, gate);
    expect((await project.aegis("plugin", "accept", "house", "--yes")).code).toBe(0);
    expect(await talk(client, id, "list *.md")).not.toMatch(refused);
    expect(await talk(client, id, "list secret")).toContain("kept secret");
  });

  it("when everything here is trusted whatever it becomes, and the gate becomes another", {
    tags: "slow",
  }, async () => {
    const project = await aegisProject(files);
    expect((await project.aegis("up")).code).toBe(0);
    const client = await clientOf(project);
    const { id } = await createSession(client);
    expect(await talk(client, id, "list secret")).toContain("kept secret");
    await writeFile(join(project.root, ".aegis/plugins/house/gate.ts"), gate.replace("secret", "nothing"));
    await waitUntil("the gate is missing", async () => (await missing(client)).length === 1, 20_000);
    expect(await talk(client, id, "list secret")).toMatch(refused);
    expect((await project.aegis("plugin", "accept", "house", "--yes")).code).toBe(0);
    expect(await talk(client, id, "list secret")).not.toMatch(refused);
  });

  it("until a person accepts a plugin that no longer registers it, who is shown what is lost", {
    tags: "slow",
  }, async () => {
    const project = await guarded();
    const client = await clientOf(project);
    const { id } = await createSession(client);
    const file = join(project.root, ".aegis/plugins/house/gate.ts");
    await writeFile(file, gate.replace("strictly", "loosely"));
    await waitUntil("the gate is missing", async () => (await missing(client)).length === 1, 20_000);
    expect((await project.aegis("plugin", "trust", "house", "--yes")).code).toBe(0);
    expect(await missing(client)).toMatchObject([{ hooks: ["pre_tool_use (strictly)"] }]);
    expect(await talk(client, id, "list *.md")).toMatch(/no longer registers/);
    const accepted = await project.aegis("plugin", "accept", "house", "--yes");
    expect(accepted.stdout).toMatch(/- pre_tool_use \(strictly\)/);
    expect(accepted.code).toBe(0);
    expect(await talk(client, id, "list *.md")).not.toMatch(refused);
  });
});

it("keeps a gate that goes missing while the project is moved", { tags: "slow" }, async () => {
  const project = await guarded();
  expect((await project.aegis("down")).code).toBe(0);
  const moved = `${project.root}-moved`;
  await rename(project.root, moved);
  await mkdir(project.root);
  await rm(join(moved, ".aegis/plugins/house"), { recursive: true });
  await agreeToStore(moved, project.env.HOME ?? "");
  try {
    const { missing_gates: gone } = await project.json<{ missing_gates: MissingGate[] }>("-C", moved, "plugin", "list");
    expect(gone).toEqual([expect.objectContaining({ plugin: "house", hooks: ["pre_tool_use (strictly)"] })]);
  } finally {
    expect((await project.aegis("-C", moved, "down")).code).toBe(0);
  }
});

it("blocks turns while a strict hook is missing", async () => {
  const strict =
    'import { hook } from "aegis";\nexport const first = hook("pre_turn", { strict: true }, () => null);\n';
  const project = await guarded({ ".aegis/plugins/house/gate.ts": strict });
  const client = await clientOf(project);
  const { id } = await createSession(client);
  expect(await talk(client, id, "hello")).toBe("you said: hello");
  await rename(join(project.root, ".aegis/plugins/house"), join(project.root, "gone"));
  await waitUntil("the hook is missing", async () => (await missing(client)).length === 1, 20_000);
  await say(client, id, "hello");
  await waitUntil("the turn is refused", async () => (await endings(client, id)).at(-1) === "refused");
  expect((await eventsOf(client, "turn.ended", id)).at(-1)?.data.error?.message).toMatch(refused);
});

it("lets a person who disables a plugin give up its gates, and says so", { tags: "slow" }, async () => {
  const project = await guarded();
  const client = await clientOf(project);
  const disabled = await project.aegis("plugin", "disable", "house");
  expect(disabled.stdout).toContain("Dropped its gates: pre_tool_use (strictly)");
  const { id } = await createSession(client);
  expect(await missing(client)).toEqual([]);
  expect(await talk(client, id, "list secret")).not.toMatch(/kept secret|guards this/);
  expect((await project.aegis("plugin", "enable", "house")).code).toBe(0);
  expect(await talk(client, id, "list secret")).toContain("kept secret");
});

it("keeps a gate closed whose plugin is deleted together with the record", { tags: "slow" }, async () => {
  const project = await guarded();
  const client = await clientOf(project);
  const { id } = await createSession(client);
  expect(await talk(client, id, "list secret")).toContain("kept secret");
  const record = join(project.env.HOME ?? "", ".aegis", "gates.json");
  await rm(record);
  await rm(join(project.root, ".aegis/plugins/house"), { recursive: true });
  await waitUntil("the gate is missing", async () => (await missing(client)).length > 0);
  expect(await talk(client, id, "list secret")).toContain("guards this");
  expect(await readFile(record, "utf8")).toContain('"house"');
});

it("refuses every tool while the record cannot be read", { tags: "slow" }, async () => {
  const project = await guarded();
  // A session exists once all plugins are loaded, and `up` ends earlier.
  await createSession(await clientOf(project));
  const record = join(project.env.HOME ?? "", ".aegis", "gates.json");
  expect(JSON.parse(await readFile(record, "utf8"))).toMatchObject({ gates_version: 1 });
  await writeFile(record, "{");
  const client = await killed(project);
  const { id } = await createSession(client);
  expect(await talk(client, id, "list *.md")).toMatch(/gates\.json cannot be used/);
});
