/** The agents of a plugin's manifest, over their files. */
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { mergeFields, readPluginAgents } from "../src/plugin-agents.ts";

const file = "---\nname: other\ndescription: from the file\nmodel: file-model\ntemperature: 0.7\n---\nYou are it.\n";

async function load(entries: unknown, files: Record<string, string> = { "agent.md": file }) {
  const folder = await tempDir();
  const root = join(folder, "plugin");
  await mkdir(join(root, "agents"), { recursive: true });
  await writeFile(join(folder, "secret.md"), file);
  await symlink(join(folder, "secret.md"), join(root, "link.md"));
  await symlink(folder, join(root, "out"));
  for (const [path, text] of Object.entries(files)) await writeFile(join(root, path), text);
  return readPluginAgents({ plugin: "db", root, entries, read: (path) => readFile(path, "utf8") });
}

const entry = { name: "dba", description: "SQL", system_prompt_file: "agent.md" };

describe("a manifest's entry", () => {
  it("rules over the file, also with zero and an empty list; an empty text does not", async () => {
    const { profiles, diagnostics } = await load([
      { ...entry, description: "", temperature: 0, model: "", tools: [], reasoning_effort: "low" },
    ]);
    expect(profiles).toMatchObject([
      {
        slug: "dba",
        plugin: "db",
        source: "plugin",
        description: "from the file",
        model: "file-model",
        temperature: 0,
        effort: "low",
        tools: null,
        prompt: "You are it.",
      },
    ]);
    expect(diagnostics).toMatchObject([{ level: "warning", plugin: "db", agent: "dba", file: "agent.md" }]);
    expect(mergeFields({ temperature: 0, model: null }, { temperature: 1, model: "m" })).toEqual({
      temperature: 0,
      model: "m",
    });
  });

  it.each([
    [{ effort: "low" }, "reasoning_effort: high", { effort: "low" }],
    [{ reasoning_effort: "low" }, "effort: high", { effort: "low" }],
    [{ disallowedTools: ["write"] }, "deny_tools: [bash]", { deny_tools: ["write"] }],
    [{ tools_allow: ["read"] }, "tools: [bash]", { tools: ["read"] }],
    [{ permissionMode: "plan" }, "permission: full", { permission: "read" }],
    [{ max_turns: 3 }, "maxTurns: 9", { max_turns: 3 }],
    [{ provider: "native" }, "harness: codex", { harness: "native" }],
  ])("rules over the file with %j where that says %s", async (said, line, expected) => {
    const { profiles, diagnostics } = await load([{ ...entry, ...said }], {
      "agent.md": `---\n${line}\n---\nYou are it.`,
    });
    expect(profiles).toMatchObject([expected]);
    expect(diagnostics).toEqual([]);
  });

  it("is enough for a file that is only a prompt", async () => {
    const { profiles } = await load([entry], { "agent.md": "You are it.\n" });
    expect(profiles).toMatchObject([{ slug: "dba", description: "SQL", prompt: "You are it." }]);
  });

  it("that comes twice counts once, the first", async () => {
    const { profiles, diagnostics } = await load([entry, { ...entry, description: "again" }]);
    expect(profiles.map((profile) => profile.description)).toEqual(["SQL"]);
    expect(diagnostics).toMatchObject([{ level: "warning", agent: "dba", message: expect.stringContaining("twice") }]);
  });

  it.each([
    ["no map", 5, "expected a map"],
    ["without a name", { description: "d", system_prompt_file: "agent.md" }, "name: expected the name of the agent"],
    ["with an empty name", { ...entry, name: "" }, "name: expected the name of the agent"],
    ["without a file", { name: "dba", description: "d" }, "system_prompt_file: expected the path"],
    ["with a file that is not there", { ...entry, system_prompt_file: "gone.md" }, "cannot be read"],
    ["with a folder as its file", { ...entry, system_prompt_file: "agents" }, "cannot be read"],
    ["with a path out of the plugin", { ...entry, system_prompt_file: "../secret.md" }, "inside the plugin"],
    ["with a longer path out", { ...entry, system_prompt_file: "agents/../../secret.md" }, "inside the plugin"],
    ["with an absolute path", { ...entry, system_prompt_file: "/etc/passwd" }, "inside the plugin"],
    ["with a link that leads out", { ...entry, system_prompt_file: "link.md" }, "inside the plugin"],
    ["with a folder that leads out", { ...entry, system_prompt_file: "out/secret.md" }, "inside the plugin"],
    ["with a NUL in its path", { ...entry, system_prompt_file: "a\0.md" }, "inside the plugin"],
    ["with tools as a number", { ...entry, tools: 7 }, "tools: expected a list"],
  ])("%s costs only itself and is named", async (_, bad, message) => {
    const { profiles, diagnostics } = await load([bad, { ...entry, name: "good" }]);
    expect(profiles.map((profile) => profile.slug)).toEqual(["good"]);
    const [found] = diagnostics;
    expect(found).toMatchObject({ level: "error", plugin: "db", agent: expect.any(String) });
    expect(diagnostics.map((one) => one.message).join()).toContain(message);
  });

  it("with a name that is none gets one", async () => {
    const { profiles } = await load([
      { ...entry, name: "../DBA" },
      { ...entry, name: 3 },
    ]);
    expect(profiles.map((profile) => profile.slug)).toEqual(["dba", "agent-3"]);
  });

  it("with a broken file is told with its line", async () => {
    const { diagnostics } = await load([entry], { "agent.md": "---\nname: a\ntools: [\n---\nx" });
    expect(diagnostics).toMatchObject([{ level: "error", agent: "dba", file: "agent.md", line: expect.any(Number) }]);
  });
});

it.each([
  [undefined, 0],
  [null, 0],
  [[], 0],
  ["agents", 1],
  [{ a: 1 }, 1],
  [Array.from({ length: 300 }, () => 1), 201],
])("a list that is %j brings no agent", async (entries, faults) => {
  const { profiles, diagnostics } = await load(entries);
  expect(profiles).toEqual([]);
  expect(diagnostics).toHaveLength(faults);
});
