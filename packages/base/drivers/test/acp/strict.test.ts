/** Every recipe keeps MCP servers out that are not the plane, wherever they are declared, or says that it cannot. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, test } from "vitest";
import { type AcpLaunch, type AcpRecipe, plainLaunch } from "../../src/acp/recipe.ts";
import { copilot } from "../../src/acp/recipes/copilot.ts";
import { gemini } from "../../src/acp/recipes/gemini.ts";
import { goose } from "../../src/acp/recipes/goose.ts";
import { kimi } from "../../src/acp/recipes/kimi.ts";
import { kilo, opencode } from "../../src/acp/recipes/opencode.ts";
import { qwen } from "../../src/acp/recipes/qwen.ts";
import type { ChosenServers } from "../../src/cli-harness/mcp-servers.ts";
import { fixtureAgent } from "./fixture-agent.ts";
import { seat } from "./seat.ts";

/** Launches in `work/project` of a folder with these files, whose `home` is the user's. */
async function launch(
  recipe: AcpRecipe,
  files: Record<string, unknown>,
  env = {},
  servers: ChosenServers = { project: new Map(), own: [] },
): Promise<AcpLaunch & { root: string }> {
  const root = await tempDir();
  await mkdir(join(root, "work", "project"), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  const plan = await recipe.launch({
    agent: fixtureAgent(),
    gated: false,
    cwd: join(root, "work", "project"),
    stateDir: join(root, "state"),
    servers,
    systemPrompt: "",
    env: { HOME: join(root, "home"), ...env },
  });
  return { ...plan, root };
}

const servers = (...names: string[]) => ({ mcpServers: Object.fromEntries(names.map((name) => [name, {}])) });

test("OpenCode and Kilo: each server of the user, the project and what lies above it is switched off", async () => {
  for (const [recipe, prefix, name] of [
    [opencode, "OPENCODE", "opencode"],
    [kilo, "KILO", "kilo"],
  ] as const) {
    const files = {
      [`home/.config/${name}/${name}.jsonc`]: '{ // mine\n "mcp": { "users": { "command": ["a", "b,]"], }, }, }',
      [`home/.${name}/${name}.json`]: { mcp: { home: {} } },
      [`work/${name}.json`]: { mcp: { servers: { above: {} } } },
      [`work/project/.${name}/${name}.json`]: { mcp: { project: {}, aegis: {} } },
      "own.json": { mcp: { own: {} } },
    };
    const given = JSON.stringify({ model: "m", mcp: { given: { type: "remote", url: "http://x" } } });
    const root = await tempDir();
    await writeFile(join(root, "own.json"), JSON.stringify(files["own.json"]));
    const env = { [`${prefix}_CONFIG_CONTENT`]: given, [`${prefix}_CONFIG`]: join(root, "own.json") };
    const plan = await launch(recipe, files, env);
    const { mcp, model } = JSON.parse(plan.env[`${prefix}_CONFIG_CONTENT`] ?? "");
    expect(model).toBe("m");
    expect(Object.keys(mcp).toSorted()).toEqual(
      ["above", "aegis", "given", "home", "own", "project", "servers", "users"].toSorted(),
    );
    for (const entry of Object.values(mcp)) expect(entry).toMatchObject({ enabled: false });
    expect(plan.warnings).toEqual([]);
  }
});

test("OpenCode: settings that come over the network are told of", async () => {
  const login = { "https://corp.example": { type: "wellknown", key: "K", token: "t" }, anthropic: { type: "api" } };
  const { warnings } = await launch(opencode, { "home/.local/share/opencode/auth.json": login });
  expect(warnings).toEqual([expect.stringContaining("https://corp.example")]);
});

test("Gemini and Qwen: only the plane is allowed, whatever arguments the user gives", async () => {
  for (const recipe of [gemini, qwen]) {
    const { onlyPlane } = await launch(recipe, {});
    expect(onlyPlane).toEqual(["--allowed-mcp-server-names", "aegis"]);
    const command = fixtureAgent().options.command;
    const at = await seat({ recipe: { launch: recipe.launch }, agent: { options: { command, args: ["--own"] } } });
    await at.open();
    expect(at.host.spawns[0]?.argv.slice(-3)).toEqual(["--own", ...onlyPlane]);
  }
});

test("Gemini: the user's servers are not in the session's settings", async () => {
  const { files } = await launch(gemini, { "home/.gemini/settings.json": { ...servers("mine"), ui: { theme: "x" } } });
  expect(JSON.parse(files[0]?.content ?? "")).toMatchObject({ ui: { theme: "x" } });
  expect(files[0]?.content).not.toContain("mcpServers");
});

test("Copilot: each server is named to be left alone, and its own are too", async () => {
  const { onlyPlane, warnings } = await launch(copilot, {
    "home/.copilot/mcp-config.json": servers("mine"),
    "work/project/.mcp.json": servers("shared", "mine"),
    "work/.github/mcp.json": servers("above"),
    "work/project/.vscode/mcp.json": { servers: { editor: {} } },
  });
  expect(onlyPlane.toSorted()).toEqual(
    [
      "--disable-builtin-mcps",
      ...["mine", "shared", "above", "editor"].map((name) => `--disable-mcp-server=${name}`),
    ].toSorted(),
  );
  expect(warnings).toEqual([]);
});

test("Copilot: plugins are told of", async () => {
  const { warnings } = await launch(copilot, { "home/.copilot/installed-plugins/market/one/plugin.json": {} });
  expect(warnings).toEqual([expect.stringContaining("plugins")]);
});

test("Kimi: its home has everything of the user's but lists of servers, plugins and trust", async () => {
  const { links, env, root } = await launch(kimi, {
    "home/.kimi-code/config.toml": "",
    "home/.kimi-code/mcp.json": servers("mine"),
    "home/.kimi-code/credentials/x": "",
    "home/.kimi-code/plugins/installed.json": {},
    "home/.kimi-code/workspace-trust/x": "",
  });
  expect(env.KIMI_CODE_HOME).toBe(join(root, "state", "kimi-home"));
  expect(links.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: "kimi-home/config.toml", target: join(root, "home/.kimi-code/config.toml") },
    { name: "kimi-home/credentials", target: join(root, "home/.kimi-code/credentials") },
  ]);
});

test("goose: its configured extensions are overruled", async () => {
  expect((await launch(goose, {})).env.EXTENSIONS).toBe("{}");
});

test("a server that has the plane's name is refused where it would take its place", async () => {
  const refusal = { turnError: { code: "start", message: expect.stringContaining("aegis") } };
  await expect(launch(gemini, { "work/project/.gemini/settings.json": servers("aegis") })).rejects.toMatchObject(
    refusal,
  );
  await expect(launch(copilot, { "work/project/.mcp.json": servers("aegis") })).rejects.toMatchObject(refusal);
});

test("what a start warns of reaches the user", async () => {
  const at = await seat({ recipe: { launch: async () => ({ ...plainLaunch, warnings: ["mind this"] }) } });
  await at.open();
  expect(at.host.notices).toEqual([{ level: "warning", text: "mind this" }]);
});

test("an agent's own servers stay on where its mcp names them, and all of them with inherit", async () => {
  const some: ChosenServers = { project: new Map(), own: ["mine"] };
  const all: ChosenServers = { project: new Map(), own: "all" };
  const files = {
    "home/.gemini/settings.json": servers("mine", "other"),
    "home/.copilot/mcp-config.json": servers("mine", "other"),
  };
  const settings = async (chosen: ChosenServers) =>
    JSON.parse((await launch(gemini, files, {}, chosen)).files[0]?.content ?? "").mcpServers;
  expect(Object.keys(await settings(some))).toEqual(["mine"]);
  expect(Object.keys(await settings(all))).toEqual(["mine", "other"]);
  const flag = "--allowed-mcp-server-names";
  for (const recipe of [gemini, qwen]) {
    expect((await launch(recipe, files, {}, some)).onlyPlane).toEqual([flag, "aegis", flag, "mine"]);
    expect((await launch(recipe, files, {}, all)).onlyPlane).toEqual([]);
  }
  expect((await launch(copilot, files, {}, some)).onlyPlane).toEqual([
    "--disable-builtin-mcps",
    "--disable-mcp-server=other",
  ]);
  expect((await launch(copilot, files, {}, all)).onlyPlane).toEqual([]);
  const declared = { "work/project/opencode.json": { mcp: { mine: {}, other: {} } } };
  const off = async (chosen: ChosenServers) =>
    JSON.parse((await launch(opencode, declared, {}, chosen)).env.OPENCODE_CONFIG_CONTENT ?? "").mcp;
  expect(await off(some)).toEqual({ other: { enabled: false } });
  expect(await off(all)).toBeUndefined();
});
