/** Agents, bound tools and reducers that plugins bring, in the built daemon. */
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { readPlace, withPlaneAgent } from "../helpers/plane-agent.ts";
import { type Project, testProject } from "../helpers/project.ts";
import { pluginNamed, toolUser, untilPlugin } from "../helpers/projects/tool-user.ts";
import { createSession, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const tools = `
import { reducer, tool } from "aegis";
export const sql = tool({ description: "d", permission: "read", required_agent: "dba" }, () => "rows");
export const peek = tool({ description: "d", permission: "read", visible_to: ["dba"] }, () => "peeked");
export const count = tool({ description: "d", permission: "read" }, () => "7");
export const longest = reducer("longest", (replies) => replies.map(({ text }) => text).sort((a, b) => b.length - a.length)[0]);
`;

const db = {
  ".aegis/plugins/db/plugin.json": JSON.stringify({
    name: "db",
    version: "1.0.0",
    agents: [
      { name: "dba", description: "", system_prompt_file: "prompts/dba.md", temperature: 0 },
      { name: "dba", system_prompt_file: "prompts/other.md" },
      { name: "helper", description: "of db", system_prompt_file: "prompts/other.md" },
      { name: "out", description: "d", system_prompt_file: "../../x.md" },
      { name: "abs", description: "d", system_prompt_file: "/etc/hostname" },
      { name: "gone", description: "d", system_prompt_file: "prompts/gone.md" },
      { name: "a:b", description: "d", system_prompt_file: "prompts/other.md" },
      { name: "bound", description: "d", system_prompt_file: "prompts/other.md", tools: 7 },
    ],
  }),
  ".aegis/plugins/db/prompts/dba.md": "---\ndescription: knows tables\ntemperature: 1\n---\nYou keep the database.\n",
  ".aegis/plugins/db/prompts/other.md": "You help.\n",
  ".aegis/plugins/db/tools.ts": tools,
};
const only = {
  ".aegis/plugins/only/plugin.json": JSON.stringify({
    name: "only",
    agents: [{ name: "helper", description: "of only", system_prompt_file: "helper.md" }],
  }),
  ".aegis/plugins/only/helper.md": "You help too.\n",
};
const greedy = {
  ".aegis/plugins/greedy.ts":
    'import { tool } from "aegis";\nexport const mine = tool({ name: "bash", description: "d", permission: "read" }, () => "mine");\n',
};
const outside = { "x.md": "---\ndescription: secret\n---\nSECRET\n" };

const linked = {
  ".aegis/plugins/linked/plugin.json": JSON.stringify({
    name: "linked",
    version: "1.0.0",
    agents: [{ name: "spy", description: "d", system_prompt_file: "link.md" }],
  }),
};

it("are taken from manifests, each with its origin, and one bad entry costs that entry only", async () => {
  const { root, aegis, json } = await aegisProject({
    ".aegis.yaml": toolUser[".aegis.yaml"],
    "playbook.yaml": toolUser["playbook.yaml"],
    ...outside,
    ...db,
    ...only,
    ...greedy,
    ...linked,
  });
  await symlink(join(root, "x.md"), join(root, ".aegis/plugins/linked/link.md"));
  type Listed = {
    agents: { slug: string; plugin: string | null; file_path: string }[];
    diagnostics: { level: string; plugin: string | null; agent: string; file: string | null; message: string }[];
  };
  const { agents, diagnostics } = await json<Listed>("agent", "list");
  const brought = agents.filter(({ plugin }) => plugin !== null).map(({ slug, plugin }) => `${plugin}:${slug}`);
  expect(brought.sort()).toEqual(["db:a-b", "db:dba", "db:helper"]);
  const about = (await aegis("plugin", "show", "db")).stdout;
  expect(about).toContain('the plugin lists "dba" twice; the first one counts');
  const inside = "system_prompt_file: expected a file inside the plugin's folder";
  for (const [name, why] of [
    ["out", inside],
    ["abs", inside],
    ["gone", "prompts/gone.md"],
    ["bound", "tools"],
  ])
    expect(about.split("\n").find((line) => line.includes(`the agent "${name}" is left out`))).toContain(why);
  // A lookup of an agent that was left out reports why, with plugin, agent and file.
  const left = diagnostics.filter(({ level, plugin }) => level === "error" && plugin === "db");
  expect(left.map(({ agent, file }) => `${agent} ${file}`)).toEqual([
    "out ../../x.md",
    "abs /etc/hostname",
    "gone prompts/gone.md",
    "bound prompts/other.md",
  ]);
  // Two plugins bring a helper: one is chosen, each can be named, and the choice is told.
  expect(diagnostics.map(({ message }) => message)).toContain(
    'the plugins "db" and "only" both have an agent "helper"; that of "db" is used, the other is only:helper',
  );
  const shown = await aegis("agent", "show", "db:dba");
  expect(shown.stdout).toContain("<plugin:db>");
  expect(shown.stdout).toContain("knows tables");
  expect(shown.stdout).toMatch(/yes +sql .*same plugin/);
  expect(shown.stdout).not.toContain("SECRET");
  const { agent } = await json<{ agent: { temperature: number; prompt: string } }>("agent", "show", "db:dba");
  expect(agent).toMatchObject({ temperature: 0, prompt: "You keep the database." });
  const second = (await aegis("agent", "show", "only:helper")).stdout;
  expect(second).toMatch(/^from +plugin, <plugin:only>\nbehind +plugin, <plugin:db>\nharness/m);
  expect((await aegis("agent", "show", "helper")).stdout).toMatch(/^in front of +plugin, <plugin:only>$/m);
  expect((await aegis("agent", "show", "dev")).stdout).toMatch(/no +sql .*only the agent db:dba may use it/);
  // Files outside of the folder can change unseen, so a user cannot have trusted them.
  expect((await aegis("plugin", "show", "linked")).stdout).toMatch(/untrusted: .*link\.md is a link out of its folder/);
  expect((await aegis("plugin", "show", "greedy")).stdout).toMatch(/cannot provide a tool "bash"/);
});

describe("tools that belong to an agent", () => {
  /** Calls the tools it is told to in one answer, then says what came of each. */
  function answer({ transcript }: FakeRequest): Reply {
    const results = transcript.filter((line) => line.startsWith("result:"));
    if (results.length > 0) return { text: results.join("\n") };
    const names = /call (.+)$/.exec(transcript.at(-1) ?? "")?.[1]?.split(" ") ?? [];
    return { calls: names.map((name, index) => ({ id: `call-${index}`, name, input: {} })) };
  }

  it("are hidden from others and refused with the reason, and the rest of the answer's calls run", {
    tags: "slow",
  }, async () => {
    const models = await fakeModels(openaiChatWire, answer);
    const project = await testProject({
      ".aegis.yaml": nativeConfig(models),
      ...outside,
      ...db,
    });
    const { client } = await project.start();
    const ask = async (agent: string) =>
      talk(client, (await createSession(client, { agent })).id, "call sql count peek aegis_meta");
    const refused = await ask("dev");
    expect(refused).toContain(
      `{"success":false,"error":"Tool 'sql' requires agent 'db:dba' but current agent is 'dev'","error_type":"validation_error"}`,
    );
    expect(refused).toContain("Tool 'peek' is only visible to agents: [dba]. Current agent is 'dev'");
    expect(refused).toMatch(/result: "?7"?/);
    expect(models.requests[0]?.tools).toContain("count");
    for (const hidden of ["sql", "peek"]) expect(models.requests[0]?.tools).not.toContain(hidden);
    const given = await ask("db:dba");
    for (const text of ["rows", "peeked", "7"]) expect(given).toContain(text);
    expect(JSON.stringify(models.requests.at(-1)?.body)).toContain("You keep the database.");
  });

  it("are hidden and refused the same way on the plane", { tags: "slow" }, async () => {
    const project = await testProject({ ...withPlaneAgent, ...outside, ...db });
    const { client, file } = await project.start();
    await createSession(client, { agent: "remote", prompt: "show here" });
    const { authorization } = await readPlace(project.dir, "here");
    const mcp = new McpClient({ name: "test", version: "1.0.0" });
    onTestFinished(() => mcp.close());
    const requestInit = { headers: { authorization } };
    await mcp.connect(new StreamableHTTPClientTransport(new URL(`${file.url}/mcp`), { requestInit }));
    const names = (await mcp.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("count");
    for (const hidden of ["sql", "peek"]) expect(names).not.toContain(hidden);
    const outcomes = await Promise.all(["sql", "count"].map((name) => mcp.callTool({ name, arguments: {} })));
    const call = (name: string, input: Record<string, unknown>) => mcp.callTool({ name, arguments: input });
    const misspelt = await call("aegis_spawn", { agent: "dev", promt: "x" });
    expect(misspelt).toMatchObject({ isError: true });
    expect(JSON.stringify(misspelt)).toContain('unknown argument \\"promt\\" (did you mean \\"prompt\\"?)');
    // Agents are taught to say who they are, also where nothing asks for it.
    const handle = (await client.call("listSessions")).sessions.find(({ agent }) => agent === "remote")?.handle ?? "";
    expect(await call("aegis_list_agents", { from_handle: handle })).toMatchObject({ isError: false });
    expect(await call("aegis_list_agents", { from_handle: "other-one" })).toMatchObject({ isError: true });
    const error = "Tool 'sql' requires agent 'db:dba' but current agent is 'remote'";
    const text = JSON.stringify({ success: false, error, error_type: "validation_error" });
    expect(outcomes).toMatchObject([
      { isError: true, content: [{ type: "text", text }] },
      { isError: false, content: [{ type: "text", text: "7" }] },
    ]);
  });

  it("are refused to the offline agent with the same words", async () => {
    const project = await testProject({ ...toolUser, ...outside, ...db });
    const { client } = await project.start();
    const use = async (tool: string) => talk(client, (await createSession(client)).id, `use ${tool} x`);
    expect(await use("sql")).toContain("Tool 'sql' requires agent 'db:dba' but current agent is 'dev'");
    expect(await use("count")).toBe("7");
  });
});

const asking = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml }\n",
  "playbook.yaml": `
rules:
  - name: have somebody do it
    when: '/^ask (\\S+)/'
    steps: [{ tool: agent, input: { agent_type: "{1}", task_prompt: "hello" }, save: answer }, { say: "{answer}" }]
  - name: lead
    when: '/^lead/'
    steps:
      - { tool: aegis_group_spawn, input: { group: crew, profiles: [dev, dev] } }
      - tool: aegis_group_broadcast
        input: { group: crew, objective: quick, output_format: text, tool_guidance: none, boundaries: none }
      - { tool: aegis_group_wait_all, input: { group: crew, timeout: 20, reducer: longest }, save: result }
      - say: "{result}"
  - { name: anything else, when: always, steps: [{ say: "{handle} did it" }] }
`,
};

async function pool(client: Client) {
  return (await client.call("listPool")).agents;
}

it("retire with a reload what the pool holds of their own plugin, and nothing else", { tags: "slow" }, async () => {
  const project: Project = await testProject({ ...asking, ...outside, ...db, ...only });
  const { client } = await project.start();
  const { id } = await createSession(client);
  for (const name of ["dba", "only:helper", "dev"]) await talk(client, id, `ask ${name}`);
  const before = await pool(client);
  expect(before.map(({ key }) => key).sort()).toEqual(["agent-dev", "plugin-db-dba", "plugin-only-helper"]);
  const { generation } = await pluginNamed(client, "db");
  await project.write(".aegis/plugins/db/prompts/dba.md", "---\ndescription: d\n---\nYou keep it well.\n");
  await untilPlugin(client, "db", (plugin) => plugin.generation !== generation);
  await waitUntil("the old one has left", async () => (await pool(client)).length === 2);
  expect((await pool(client)).map(({ key }) => key).sort()).toEqual(["agent-dev", "plugin-only-helper"]);
  for (const name of ["dba", "only:helper", "dev"]) await talk(client, id, `ask ${name}`);
  const after = await pool(client);
  const sessionOf = (rows: typeof before, key: string) =>
    rows.filter((row) => row.key === key).map((row) => row.session);
  expect(after).toHaveLength(3);
  expect(after.every(({ stale }) => !stale)).toBe(true);
  expect(sessionOf(after, "plugin-db-dba")).not.toEqual(sessionOf(before, "plugin-db-dba"));
  for (const key of ["agent-dev", "plugin-only-helper"]) expect(sessionOf(after, key)).toEqual(sessionOf(before, key));
});

it("combine the replies of a group with a reducer of their own", async () => {
  const project = await testProject({ ...asking, ...outside, ...db });
  const { client } = await project.start();
  const { id } = await createSession(client);
  const result = JSON.parse(await talk(client, id, "lead")) as { combined: string; replies: unknown };
  const { group } = await client.call("getGroup", { path: { group: "crew" } });
  const longest = group.members.map(({ handle }) => `${handle} did it`).sort((a, b) => b.length - a.length)[0];
  expect(result.combined).toHaveLength(longest?.length ?? 0);
  expect(result.combined).toMatch(/ did it$/);
});
