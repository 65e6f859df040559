/** What `install`, `update` and `validate --load` say about plugins that cannot be loaded, and of parts that have no effect. */
import { access, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PluginDetail, PluginView } from "@aegis/contract/plugin.ts";
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { describe, expect, it } from "vitest";

const manifest = (name: string, more = "") => `[plugin]\nname = "${name}"\nversion = "1.0.0"\n${more}`;
const tool = (name: string, options = "") =>
  `import { tool } from "aegis";\nexport const ${name} = tool({ description: "d", permission: "read"${options} }, () => "ok");\n`;

const files = {
  ".aegis.yaml": offlineConfig,
  "shelf/good/plugin.toml": manifest("good"),
  "shelf/good/main.ts": tool("good_tool"),
  "shelf/throws/plugin.toml": manifest("throws"),
  "shelf/throws/main.ts": 'import { tool } from "aegis";\nthrow new Error("not today");\n',
  "shelf/flow/plugin.toml": manifest("flow"),
  "shelf/flow/main.ts":
    'import { workflow } from "aegis";\nexport const flow = workflow("tdd_cycle", async (engine) => engine.name);\n',
  "shelf/needs/plugin.toml": manifest("needs", '[config_schema.key]\ntype = "string"\nrequired = true\n'),
  "shelf/needs/main.ts": tool("needs_tool"),
  "shelf/partly/plugin.toml": manifest(
    "partly",
    '[[tools]]\nname = "gone"\ndescription = "d"\npermission = "read"\ncommand = "./bin/gone"\n',
  ),
  "shelf/partly/main.ts": `${tool("bash")}export const good_tool = tool({ description: "d", permission: "read", required_agent: "nobody" }, () => "mine");\nexport const odd = tool({ description: "d", permission: "read", input: { type: "object", properties: { a: { $ref: "https://elsewhere.example/x" } } } }, () => 1);\n`,
  "shelf/claude/.claude-plugin/plugin.json": JSON.stringify({
    name: "claude",
    version: "1.0.0",
    description: "Guards.",
  }),
  "shelf/claude/hooks/hooks.json": JSON.stringify({ hooks: { PreToolUse: [{ hooks: [] }] } }),
  "shelf/claude/.mcp.json": JSON.stringify({ mcpServers: { tickets: { command: "tickets" } } }),
  "shelf/claude/skills/greet/SKILL.md": "---\nname: greet\ndescription: Says hello\n---\nSay hello.\n",
};

const install = (name: string) => ["plugin", "install", name, "--from", `./shelf/${name}`, "--yes"];

describe("a plugin that cannot be loaded", () => {
  it.each([
    ["throws", /throws 1\.0\.0 cannot be loaded, so nothing was changed:\n +main\.ts:2: not today/],
    ["flow", /main\.ts:2: a workflow "tdd_cycle" exists already, from the catalog/],
    ["needs", /plugins\.needs\.key: expected text, found nothing[\s\S]*set it in \.aegis\.yaml under plugins\.needs/],
  ])("%s is not installed, and the project stays as it was", async (name, why) => {
    const { aegis, root } = await aegisProject(files);
    const refused = await aegis(...install(name));
    expect(refused.code).toBe(2);
    expect(refused.stdout).not.toContain("Installed");
    expect(refused.stderr).toMatch(why);
    await expect(access(join(root, ".aegis/plugins", name))).rejects.toThrow("ENOENT");
    await expect(access(join(root, ".aegis/packages.lock"))).rejects.toThrow("ENOENT");
    expect(await readFile(join(root, ".aegis.yaml"), "utf8")).toBe(offlineConfig);
  });

  it("does not replace the version that works, also under a running daemon", {
    tags: "slow",
    timeout: scaled(60_000),
  }, async () => {
    const { aegis, json, root } = await aegisProject(files);
    await aegis("up");
    expect((await aegis(...install("good"))).code).toBe(0);
    const lock = await readFile(join(root, ".aegis/packages.lock"), "utf8");
    expect(JSON.parse(lock).plugins.good.source).toBe("./shelf/good");
    await writeFile(join(root, "shelf/good/main.ts"), "throw new Error('worse');\n");
    const refused = await aegis("plugin", "update", "good", "--yes");
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("main.ts:1: worse") });
    expect(await readFile(join(root, ".aegis/plugins/good/main.ts"), "utf8")).toBe(tool("good_tool"));
    expect(await readFile(join(root, ".aegis/packages.lock"), "utf8")).toBe(lock);
    const { plugin } = await json<{ plugin: PluginDetail }>("plugin", "show", "good");
    expect(plugin).toMatchObject({ status: "loaded", reason: null, generation: 1 });

    // The lock finds the folder again from wherever the project lies.
    await writeFile(join(root, "shelf/good/main.ts"), tool("better_tool"));
    expect((await aegis("plugin", "update", "good", "--yes")).stdout).toContain("Updated good 1.0.0 → 1.0.0.");
  });
});

it("installs a plugin with bad tools without them, and validate --load finds the same", {
  tags: "slow",
  timeout: scaled(60_000),
}, async () => {
  const { aegis, json } = await aegisProject(files);
  await aegis("up");
  await aegis(...install("good"));
  const wrong = [
    'the tool "bash" is left out: the plugin "partly" cannot provide a tool "bash": the name is Aegis\'s own',
    'the tool "good_tool" is left out: the plugin "partly" cannot provide a tool "good_tool": the plugin "good" has one',
    'the tool "gone" is left out: its program ./bin/gone was not found',
    'the tool "odd" is left out: the schema of its input cannot be used',
  ];
  const checked = await aegis("plugin", "validate", "shelf/partly", "--load");
  expect(checked.code).toBe(1);
  for (const one of [...wrong, 'the tool "good_tool" requires the agent "nobody"'])
    expect(checked.stderr).toContain(one);
  const done = await aegis(...install("partly"));
  expect(done.stdout).toContain("Installed partly 1.0.0.");
  for (const one of wrong) expect(done.stderr).toContain(one);
  const { plugin } = await json<{ plugin: PluginDetail }>("plugin", "show", "partly");
  expect(plugin).toMatchObject({ status: "loaded", brings: { tools: [] } });
  for (const one of wrong) expect(plugin.diagnostics.map(({ message }) => message).join("\n")).toContain(one);
});

it("names each part of a Claude Code plugin that has no effect", {
  tags: "slow",
  timeout: scaled(60_000),
}, async () => {
  const { aegis, json, root } = await aegisProject(files);
  const hooks =
    /hooks\/hooks\.json: (?:warning: )?has no effect here: .*nothing that they check or block.*\(PreToolUse\)/;
  const servers = /\.mcp\.json: (?:warning: )?has no effect here: .*MCP servers.*\(tickets\)/;
  const checked = await aegis("plugin", "validate", "shelf/claude");
  expect(checked).toMatchObject({ code: 0, stderr: expect.stringMatching(hooks) });
  expect(checked.stderr).toMatch(servers);
  const done = await aegis(...install("claude"));
  expect(done).toMatchObject({ code: 0, stderr: expect.stringMatching(hooks) });
  expect(done.stderr).toMatch(servers);
  expect((await aegis("plugin", "list")).stdout).toMatch(
    /claude +1\.0\.0 +loaded +no effect here: hooks\/hooks\.json, \.mcp\.json; Guards\./,
  );
  const { plugins } = await json<{ plugins: PluginView[] }>("plugin", "list");
  const parts = plugins.find(({ name }) => name === "claude")?.unsupported.map(({ part }) => part);
  expect(parts).toEqual(["hooks/hooks.json", ".mcp.json"]);
  const shown = (await aegis("plugin", "show", "claude")).stdout;
  expect(shown).toMatch(/^no effect +hooks\/hooks\.json, \.mcp\.json$/m);
  expect(shown).toMatch(hooks);
  await rm(join(root, ".aegis/plugins/claude"), { recursive: true });
});

it.each([
  ["https://github.com/acme/tools", /is a URL; .*\n.*gh:acme\/tools/],
  ["git@github.com:acme/tools.git", /is a URL; .*\n.*gh:acme\/tools/],
  ["ssh://git@git.example/acme/tools.git", /is a URL; .*\n.*git\+https:\/\/git\.example\/acme\/tools\.git/],
  ["https://example.com/hello.tar.gz", /is an archive, but not a ZIP archive/],
  ["./hello.zip", /the plugin's files are refused: not a ZIP archive/],
  ["./.aegis.yaml", /\.aegis\.yaml is neither a folder, a ZIP archive nor/],
])("refuses %s as what it is", async (from, why) => {
  const { aegis } = await aegisProject({ ...files, "hello.zip": "PK" });
  const refused = await aegis("plugin", "install", "hello", "--from", from, "--yes");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(why);
});
