/** Each recipe: how its agent is started, and which calls it takes for the plane's. */
import { mkdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, test } from "vitest";
import { type AcpRecipe, type LaunchContext, plainLaunch } from "../../src/acp/recipe.ts";
import { acpRecipes } from "../../src/acp/recipes/all.ts";
import { copilot } from "../../src/acp/recipes/copilot.ts";
import { gemini } from "../../src/acp/recipes/gemini.ts";
import { goose } from "../../src/acp/recipes/goose.ts";
import { kilo, opencode } from "../../src/acp/recipes/opencode.ts";
import { qwen } from "../../src/acp/recipes/qwen.ts";
import { applyPatch, kindOf, nameOf } from "../../src/acp/tool-calls.ts";
import { fixtureAgent } from "./fixture-agent.ts";
import { seat } from "./seat.ts";

const context = (more: Partial<LaunchContext> = {}): LaunchContext => ({
  agent: fixtureAgent(),
  gated: false,
  cwd: "/nowhere",
  stateDir: "/state",
  servers: { project: new Map(), own: [] },
  systemPrompt: "You are new.",
  env: { HOME: "/nowhere" },
  ...more,
});
const recipeOf = (harness: string): AcpRecipe => {
  const recipe = acpRecipes.find((one) => one.harness === harness);
  if (recipe === undefined) throw new Error(`no recipe ${harness}`);
  return recipe;
};
const call = (patch: { id?: string; title?: string; kind?: string; name?: string; meta?: Record<string, unknown> }) =>
  applyPatch(undefined, {
    toolCallId: patch.id ?? "c1",
    title: patch.title,
    kind: patch.kind ?? "other",
    name: patch.name,
    _meta: patch.meta,
  });

test("every harness has one recipe", () => {
  expect(acpRecipes.map((recipe) => recipe.harness).toSorted()).toEqual(
    ["acp", "copilot", "gemini", "goose", "kilo", "kimi", "opencode", "qwen"].toSorted(),
  );
});

describe("a tool of the plane", () => {
  test.each([
    ["gemini", { id: "mcp_aegis_aegis_meta__x1", title: "aegis_meta (aegis MCP Server)" }],
    ["opencode", { title: "aegis_aegis_meta" }],
    ["kilo", { title: "aegis_aegis_meta" }],
    ["kimi", { title: "mcp__aegis__aegis_meta" }],
    ["goose", { title: "aegis: aegis meta" }],
    ["qwen", { title: '{"a":1}', meta: { toolName: "mcp__aegis__aegis_meta" } }],
    ["acp", { name: "mcp__aegis__aegis_meta" }],
  ])("is known by what %s says of it", (harness, patch) => {
    const { naming } = recipeOf(harness);
    expect(nameOf(call(patch), naming)).toBe("mcp__aegis__aegis_meta");
  });

  test.each([
    ["gemini", { id: "run_shell_command__x1", title: "aegis_meta (aegis MCP Server)", kind: "execute" }],
    ["gemini", { id: "mcp_aegis_evil_meta__x1", title: "meta (aegis_evil MCP Server)" }],
    ["opencode", { title: "aegis_meta", kind: "execute" }],
    ["kimi", { title: "mcp__aegis__meta", kind: "execute" }],
    ["goose", { title: "shell · aegis: meta" }],
    ["qwen", { title: "mcp__aegis__meta", meta: { toolName: "run_shell_command" } }],
    ["copilot", { title: "aegis-meta" }],
    ["acp", { title: "mcp__aegis__meta" }],
  ])("is not what only looks like one in %s: %j", (harness, patch) => {
    expect(recipeOf(harness).naming.planeTool(call(patch))).toBeNull();
  });

  test("stays one when a later title says something else", () => {
    const renamed = applyPatch(call({ title: "aegis_meta" }), { toolCallId: "c1", title: "rm -rf" });
    expect(opencode.naming.planeTool(renamed)).toBe("meta");
    const posing = applyPatch(call({ title: "bash" }), { toolCallId: "c1", title: "aegis_meta" });
    expect(opencode.naming.planeTool(posing)).toBeNull();
  });
});

test("goose's own tools have a kind though it names none", () => {
  const shell = call({ title: "shell · touch x" });
  expect([nameOf(shell, goose.naming), kindOf(shell, goose.naming)]).toEqual(["shell", "execute"]);
});

describe("starting", () => {
  test("OpenCode and Kilo get settings over those given, and the system prompt as a file", async () => {
    for (const [recipe, prefix] of [
      [opencode, "OPENCODE"],
      [kilo, "KILO"],
    ] as const) {
      const given = JSON.stringify({ model: "m", autoupdate: true, permission: { bash: "allow" } });
      const agent = fixtureAgent([], { permission: "write" });
      const plan = await recipe.launch(context({ agent, env: { [`${prefix}_CONFIG_CONTENT`]: given } }));
      expect(JSON.parse(plan.env[`${prefix}_CONFIG_CONTENT`] ?? "")).toMatchObject({
        model: "m",
        autoupdate: false,
        instructions: ["/state/instructions.md"],
        permission: { bash: "allow", "*": "ask", edit: "allow" },
      });
      expect(plan.files).toEqual([{ name: "instructions.md", content: "You are new." }]);
    }
  });

  test("OpenCode and Kilo get a new password for each process, whatever their environment has", async () => {
    for (const [recipe, name] of [
      [opencode, "OPENCODE_SERVER_PASSWORD"],
      [kilo, "KILO_SERVER_PASSWORD"],
    ] as const) {
      const launch = async () => (await recipe.launch(context({ env: { [name]: "known" } }))).env[name];
      const passwords = [await launch(), await launch()];
      expect(new Set([...passwords, "known"]).size).toBe(3);
      for (const password of passwords) expect(password).toMatch(/^[\w-]{43}$/);
    }
  });

  test("an agent whose calls are judged is set to ask, whatever its rights and the user's settings", async () => {
    const judged = context({
      agent: fixtureAgent([], { permission: "full" }),
      gated: true,
      env: {
        HOME: "/nowhere",
        OPENCODE_CONFIG_CONTENT: JSON.stringify({ permission: { bash: "allow", read: "allow" } }),
      },
    });
    const { permission } = JSON.parse((await opencode.launch(judged)).env.OPENCODE_CONFIG_CONTENT ?? "") as {
      permission: Record<string, string>;
    };
    expect(permission).toMatchObject({ "*": "ask", bash: "ask", edit: "ask", read: "ask", webfetch: "ask" });
    expect((await goose.launch(judged)).env.GOOSE_MODE).toBe(
      (await goose.launch(context({ agent: fixtureAgent([], { permission: "read" }) }))).env.GOOSE_MODE,
    );
    expect((await goose.launch({ ...judged, gated: false })).env.GOOSE_MODE).not.toBe(
      (await goose.launch(judged)).env.GOOSE_MODE,
    );
    expect((await copilot.launch(judged)).args).not.toContain("--allow-all");
  });

  test("`auto` leaves OpenCode's own permissions alone", async () => {
    const plan = await opencode.launch(context());
    expect(JSON.parse(plan.env.OPENCODE_CONFIG_CONTENT ?? "")).not.toHaveProperty("permission");
  });

  test("Copilot is given everything only with `full`", async () => {
    const full = await copilot.launch(context({ agent: fixtureAgent([], { permission: "full" }) }));
    expect(full.args).toContain("--allow-all");
    expect((await copilot.launch(context())).args).not.toContain("--allow-all");
  });

  test("Qwen keeps the administrator's settings under ours", async () => {
    const admin = join(await tempDir(), "admin.json");
    await writeFile(admin, '{ "tools": { "exclude": ["x"] } } // ours');
    const plan = await qwen.launch(context({ env: { QWEN_CODE_SYSTEM_SETTINGS_PATH: admin } }));
    expect(JSON.parse(plan.files[0]?.content ?? "")).toMatchObject({
      tools: { exclude: ["x"], toolSearch: { enabled: false } },
    });
  });

  test("Gemini gets a home of its own with the user's settings in it and links to the rest", async () => {
    const home = await tempDir();
    const users = join(home, ".gemini");
    await mkdir(join(users, "tmp"), { recursive: true });
    await writeFile(
      join(users, "settings.json"),
      '{ "ui": { "theme": "http://x" }, /* c */ "security": { "auth": { "selectedType": "oauth-personal" } } }',
    );
    await writeFile(join(users, "oauth_creds.json"), "{}");
    const plan = await gemini.launch(context({ env: { HOME: home, GEMINI_API_KEY: "k" } }));
    expect(JSON.parse(plan.files[0]?.content ?? "")).toMatchObject({
      ui: { theme: "http://x" },
      security: { auth: { selectedType: "oauth-personal" } },
      general: { sessionRetention: { enabled: false } },
    });
    expect(plan.links).toEqual([
      { name: "gemini-home/.gemini/oauth_creds.json", target: join(users, "oauth_creds.json") },
    ]);
  });

  test("Gemini with broken settings is not started with others", async () => {
    const home = await tempDir();
    await mkdir(join(home, ".gemini"));
    await writeFile(join(home, ".gemini", "settings.json"), "{ broken");
    await expect(gemini.launch(context({ env: { HOME: home } }))).rejects.toMatchObject({
      turnError: { code: "start", message: expect.stringContaining("settings.json cannot be read") },
    });
  });

  test("writes the files and links into the state folder, also a second time", async () => {
    const plan = {
      ...plainLaunch,
      files: [{ name: "a/b.json", content: "{}" }],
      links: [{ name: "a/l", target: "/x" }],
    };
    const at = await seat({ recipe: { launch: async () => plan } });
    await at.open();
    await at.open();
    expect(await readFile(join(at.stateDir, "a", "b.json"), "utf8")).toBe("{}");
    expect(await readlink(join(at.stateDir, "a", "l"))).toBe("/x");
  });
});
