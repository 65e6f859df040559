/** Plugins dropped into a project of the built daemon: what they bring works, and what is wrong with one is its own affair. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sharedDaemon } from "../helpers/project.ts";
import { pluginNamed, toolUser, untilPlugin, useTool } from "../helpers/projects/tool-user.ts";
import { scaled } from "../helpers/slowness.ts";
import { createSession, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const say = (name: string, text: string) =>
  `import { tool } from "aegis";\nexport const ${name} = tool({ description: "d", permission: "read" }, async () => ${JSON.stringify(text)});\n`;

const shared = sharedDaemon(
  {
    ...toolUser,
    ".aegis.yaml": `${toolUser[".aegis.yaml"]}plugins:\n  limits: { load_timeout: 7, unresponsive_timeout: 4 }\n  settings: { level: 3, key_env: PLUGIN_TEST_KEY }\n`,
    // The project is CommonJS; plugins are not.
    "package.json": '{ "type": "commonjs" }',

    ".aegis/plugins/plain.js":
      'import { tool } from "aegis";\nexport const plain_js = tool({ description: "d", permission: "read" }, () => "plain");\n',
    ".aegis/plugins/common.cjs":
      'const { tool } = require("aegis");\nexports.common_js = tool({ description: "d", permission: "read" }, () => "common");\n',
    ".aegis/plugins/folder/deep/_hidden/never.ts": "throw new Error('a hidden module was loaded');\n",
    ".aegis/plugins/folder/_install.ts": "throw new Error('an install script was loaded');\n",
    ".aegis/plugins/folder/deep/one.ts":
      'import { tool, z } from "aegis";\nimport { Level } from "./_level";\n' +
      'export const b_second = tool({ description: "d", permission: "read", input: z.object({ value: z.coerce.number().max(5) }) }, ({ value }) => value + Level.High);\n' +
      'export const a_first = tool({ description: "d", permission: "read", parameters: { value: { type: "string", description: "v" } } }, (input) => input);\n',
    ".aegis/plugins/folder/deep/_level.ts": "export enum Level { Low, High = 10 }\n",
    ".aegis/plugins/settings/plugin.toml":
      '[plugin]\nname = "settings"\nversion = "1.2.3"\n[config_schema.level]\ntype = "integer"\n[config_schema.name]\ntype = "string"\ndefault = "unset"\n[config_schema.key_env]\ntype = "string"\n',
    ".aegis/plugins/settings/main.ts":
      'import type { PluginAPI } from "aegis";\nexport async function register(api: PluginAPI) {\n' +
      '  api.log("info", "the key is " + api.config.key);\n' +
      '  api.registerTool({ name: "show_settings", description: "d", handler: async (_input, ctx) => ({ id: api.id, level: api.config.level, name: api.config.name, key: api.config.key, agent: ctx.agent, handle: ctx.session.handle.length > 3, own: process.env.PLUGIN_TEST_KEY, daemon: process.env.SECRET_OF_DAEMON ?? null }) });\n}\n',

    ".aegis/plugins/throws.ts": 'import { tool } from "aegis";\n\nthrow new Error("not today");\n',
    ".aegis/plugins/syntax.ts": "export const a = 1;\nexport const b: = 2;\n",
    ".aegis/plugins/decorated.ts":
      'import { tool } from "aegis";\nconst mail = "@nobody"; // @ignored\nconst decorate = (it: unknown, _context: unknown): unknown => it;\n\n@decorate\nclass Counter {}\nexport const count = tool({ description: mail, permission: "read" }, () => String(Counter));\n',
    ".aegis/plugins/missing.ts": 'import { x } from "./_not_there.ts";\nexport const y = x;\n',
    ".aegis/plugins/exits.ts": "process.exit(3);\n",
    ".aegis/plugins/loops.ts": "while (true) {}\n",
    ".aegis/plugins/never-settles.ts": "await new Promise(() => {});\nexport const late = 1;\n",
    ".aegis/plugins/never-registers.ts":
      "export async function register() {\n  setInterval(() => {}, 1_000);\n  await new Promise(() => {});\n}\n",
    ".aegis/plugins/wrong-event.ts":
      'import { hook } from "aegis";\nexport const a = hook("pre_trun" as never, () => {});\n',
    ".aegis/plugins/reserved.ts": say("aegis_mine", "mine"),
    ".aegis/plugins/twin-a.ts": say("twin_tool", "a"),
    ".aegis/plugins/twin-b.ts": say("twin_tool", "b"),
    ".aegis/plugins/one-bad.ts":
      'import { tool, type PluginAPI } from "aegis";\n' +
      'export const good_one = tool({ description: "d", permission: "read" }, () => "good");\n' +
      'export const first = tool({ name: "twice", description: "d", permission: "read" }, () => 1);\n' +
      'export const second = tool({ name: "twice", description: "d", permission: "read" }, () => 2);\n' +
      'export const bad_schema = tool({ description: "d", permission: "read", input: { type: "object", properties: { a: { $ref: "https://elsewhere.example/x" } } } }, () => 3);\n' +
      'export function register(api: PluginAPI) {\n  api.registerTool({ name: "no name", description: "d", handler: () => 4 });\n}\n',
    ".aegis/plugins/same-name/plugin.json": '{ "name": "plain", "version": "1.0.0" }',
    ".aegis/plugins/bad-manifest/plugin.toml": '[plugin]\nname = "bad-manifest"\nversion = "../../x"\n',
    ".aegis/plugins/needs-more/plugin.toml":
      '[plugin]\nname = "needs-more"\nversion = "1.0.0"\nrequires_aegis = ">=99"\n',
    ".aegis/plugins/needs-other/plugin.json":
      '{ "name": "needs-other", "version": "1.0.0", "requires": { "settings": "^2" } }',
    ".aegis/plugins/needs-broken/plugin.json":
      '{ "name": "needs-broken", "version": "1.0.0", "requires": { "throws": "*" } }',
    ".aegis/plugins/after/plugin.json": '{ "name": "after", "version": "1.0.0", "requires": { "settings": "^1" } }',

    ".aegis/plugins/rude.ts":
      'import { tool } from "aegis";\n' +
      'export const delete_process = tool({ description: "d", permission: "read" }, () => { Reflect.deleteProperty(globalThis, "process"); return "gone"; });\n' +
      'export const still_there = tool({ description: "d", permission: "read" }, () => "still there");\n' +
      'export const flood = tool({ description: "d", permission: "read" }, async () => { for (let i = 0; i < 50_000; i++) console.log("line " + i); return "flooded"; });\n' +
      'export const leak_timers = tool({ description: "d", permission: "read" }, () => { for (let i = 0; i < 1000; i++) setInterval(() => {}, 10); return "leaked"; });\n' +
      'export const bad_result = tool({ description: "d", permission: "read" }, () => 10n);\n' +
      'export const throws_text = tool({ description: "d", permission: "read" }, () => { throw new Error("a tool said no"); });\n',
    ".aegis/plugins/dies.ts":
      'import { tool } from "aegis";\n' +
      'export const die_now = tool({ description: "d", permission: "read" }, () => process.exit(7));\n' +
      'export const reject_later = tool({ description: "d", permission: "read" }, async () => { setTimeout(() => { void Promise.reject(new Error("nobody caught this")); }, 1); await new Promise((r) => setTimeout(r, 60_000)); });\n' +
      'export const alive = tool({ description: "d", permission: "read" }, () => "alive");\n' +
      'export const throw_later = tool({ description: "d", permission: "read" }, async () => { setTimeout(() => { throw new Error("from a timer"); }, 1); await new Promise((r) => setTimeout(r, 60_000)); });\n',
    ".aegis/plugins/hangs.ts":
      'import { tool } from "aegis";\n' +
      'export const never_returns = tool({ description: "d", permission: "read", timeout: 0.3 }, () => new Promise(() => {}));\n' +
      'export const endless = tool({ description: "d", permission: "read", timeout: 0.3 }, () => { for (;;) {} });\n' +
      'export const after_hang = tool({ description: "d", permission: "read" }, () => "fine");\n',
    ".aegis/plugins/greedy.ts":
      'import { tool } from "aegis";\nexport const eat = tool({ description: "d", permission: "read" }, () => { const all: unknown[] = []; for (;;) all.push(new Array(100_000).fill(all.length)); });\n' +
      'export const full = tool({ description: "d", permission: "read" }, () => "hungry again");\n' +
      'export const eat_buffers = tool({ description: "d", permission: "read" }, () => { const all: unknown[] = []; for (let n = 0; n < 35; n++) all.push(new Uint8Array(8 << 20).fill(1)); for (;;); });\n',
    // Both call what they bring by the same name.
    ".aegis/plugins/tone-a.ts":
      'import { hook } from "aegis";\nexport const tone = hook("pre_turn", ({ userMessage }) => (userMessage.includes("tone") ? { prependSystem: "a" } : null));\n',
    ".aegis/plugins/tone-b.ts":
      'import { hook } from "aegis";\nexport const tone = hook("pre_turn", ({ userMessage }) => (userMessage.includes("tone") ? { prependSystem: "b" } : null));\n',

    ".aegis/plugins/programs/plugin.json": JSON.stringify({
      name: "programs",
      version: "1.0.0",
      config_schema: { greeting: { type: "string", default: "hello" } },
      tools: [
        {
          name: "greet",
          description: "d",
          command: "node",
          args: ["greet.js"],
          schema: { type: "object", properties: { value: { type: "string" } }, required: ["value"] },
        },
        {
          name: "fail_well",
          description: "d",
          command: "sh",
          args: ["-c", 'echo \'{"success":false,"error":"own words"}\'; exit 1'],
        },
        { name: "fail_badly", description: "d", command: "sh", args: ["-c", "echo oops >&2; exit 4"] },
        { name: "hold_pipe", description: "d", command: "sh", args: ["-c", "sleep 30 & sleep 30"], timeout: 300 },
        { name: "leave_holder", description: "d", command: "sh", args: ["-c", "sleep 30 & echo '{\"left\":1}'"] },
        { name: "talk_much", description: "d", command: "sh", args: ["-c", "yes | head -c 3000000"] },
        { name: "not_there", description: "d", command: "./nothing" },
      ],
    }),
    ".aegis/plugins/programs/greet.js":
      'let text = "";\nprocess.stdin.on("data", (d) => (text += d)).on("end", () => {\n  console.log("a line before");\n  console.log(JSON.stringify({ said: process.env.PLUGIN_CONFIG_GREETING + " " + JSON.parse(text).value, secret: process.env.SECRET_OF_DAEMON ?? null, cwd: process.cwd().endsWith("programs") }));\n});\n',
  },
  {
    env: {
      PLUGIN_TEST_KEY: "a-long-secret-value",
      SECRET_OF_DAEMON: "not for plugins",
      PATH: `${process.execPath.replace(/\/node$/, "")}:/usr/bin:/bin`,
    },
  },
);

const use = (tool: string, value?: string) => useTool(shared.daemon.client, tool, value);
const named = (name: string) => pluginNamed(shared.daemon.client, name);

describe("what plugins bring", () => {
  it("loads modules of every kind without a build", async () => {
    expect(await use("plain_js")).toBe("plain");
    expect(await use("common_js")).toBe("common");
    expect(JSON.parse(await use("a_first", "hi"))).toEqual({ value: "hi" });
    expect(await use("b_second", "4")).toBe("14");
    expect(await use("b_second", "9")).toMatch(/value: .*5/);
  });

  it("keeps the order of definition, not of the alphabet", async () => {
    const { plugin } = await shared.daemon.client.call("getPlugin", { path: { plugin: "folder" } });
    expect(plugin.brings.tools.map((tool) => tool.name)).toEqual(["b_second", "a_first"]);
    expect(plugin.modules).toEqual(["deep/one.ts"]);
  });

  it("gives code its settings and its caller, and nothing of the daemon's environment", async () => {
    expect(JSON.parse(await use("show_settings"))).toEqual({
      id: "settings",
      level: 3,
      name: "unset",
      key: "[redacted]",
      agent: "dev",
      handle: true,
      own: "[redacted]",
      daemon: null,
    });
    const log = join(shared.project.dir, ".aegis/state/plugin-logs/settings.jsonl");
    await waitUntil("the log is written", async () => (await readFile(log, "utf8").catch(() => "")) !== "");
    expect(await readFile(log, "utf8")).toContain("the key is [redacted]");
    const { plugin } = await shared.daemon.client.call("getPlugin", { path: { plugin: "settings" } });
    expect(JSON.stringify(plugin)).not.toContain("a-long-secret-value");
  });

  it("runs programs as tools", async () => {
    expect(JSON.parse(await use("greet", "you"))).toEqual({ said: "hello you", secret: null, cwd: true });
    expect(await use("fail_well")).toContain("own words");
    expect(await use("fail_badly")).toMatch(/exited with code 4.*oops/s);
    const begun = performance.now();
    expect(await use("hold_pipe")).toMatch(/gave no answer within 0\.3 s/);
    expect(performance.now() - begun).toBeLessThan(scaled(1_500 + 1_000));
    expect(JSON.parse(await use("leave_holder"))).toEqual({ left: 1 });
    expect(await use("talk_much")).toMatch(/wrote more than 1048576 bytes/);
  });
});

describe("a plugin that cannot be loaded", () => {
  it.each([
    ["throws", /throws\.ts:3: not today/],
    ["syntax", /syntax\.ts:2: /],
    [
      "decorated",
      /decorated\.ts:5: SyntaxError: decorators such as @decorate are not supported: call a function instead/,
    ],
    ["missing", /missing\.ts.*_not_there/],
    ["exits", /exited with code 3/],
    ["loops", /loops\.ts: the module did not load within 7 s/],
    ["never-settles", /never-settles\.ts: the module did not load before its worker exited.*top-level await/],
    ["never-registers", /never-registers\.ts: register\(\) did not finish within 7 s/],
    ["wrong-event", /wrong-event\.ts:2: .*did you mean "pre_turn"/],
    ["bad-manifest", /plugin\.toml:3: version: expected a version such as 1\.2\.3/],
    ["needs-more", /requires Aegis >=99/],
    ["needs-other", /requires the plugin "settings" \^2, found 1\.2\.3/],
    ["needs-broken", /requires the plugin "throws", which cannot be used/],
  ])("%s is listed with the reason, and nothing else suffers", async (name, reason) => {
    const plugin = await named(name);
    expect(plugin.status).toBe("failed");
    expect(plugin.reason).toMatch(reason);
  });

  it.each([
    ["reserved", "aegis_mine", /the tool "aegis_mine" is left out: .*the name is Aegis's own/],
    ["twin-b", "twin_tool", /the tool "twin_tool" is left out: .*the plugin "twin-a" has one/],
    ["programs", "not_there", /the tool "not_there" is left out: its program .* was not found/],
    ["one-bad", "twice", /one-bad\.ts the tool "twice" is left out: there are two tools "twice"/],
    ["one-bad", "no name", /one-bad\.ts the tool "no name" is left out: .*is not a valid tool name/],
    ["one-bad", "bad_schema", /the tool "bad_schema" is left out: the schema of its input cannot be used/],
  ])("%s loses only the tool %s, and says why", async (name, tool, why) => {
    const { plugin } = await shared.daemon.client.call("getPlugin", { path: { plugin: name } });
    expect(plugin.status).toBe("loaded");
    const errors = plugin.diagnostics.filter(({ level }) => level === "error");
    expect(errors.map(({ file, message }) => `${file ?? ""} ${message}`).join("\n")).toMatch(why);
    if (tool !== "twice") expect(plugin.brings.tools.map((one) => one.name)).not.toContain(tool);
    if (name === "one-bad") expect(await use("good_one")).toBe("good");
  });

  it("two that claim one name are told apart, and the first one counts", async () => {
    const { plugins } = await shared.daemon.client.call("listPlugins");
    const both = plugins.filter((plugin) => plugin.name === "plain");
    expect(both.map((plugin) => plugin.status)).toEqual(["loaded", "failed"]);
    expect(both[1]?.reason).toMatch(/plain\.js is a plugin of that name too/);
  });

  it("two hooks of one name are two hooks, in the order of their plugins", async () => {
    const session = await createSession(shared.daemon.client);
    expect(await talk(shared.daemon.client, session.id, "tone")).toBe("you said: a\n\nb\n\ntone");
  });

  it("what a plugin requires comes before it", async () => {
    const { plugins } = await shared.daemon.client.call("listPlugins");
    const names = plugins.map((plugin) => plugin.name);
    expect(names.indexOf("settings")).toBeLessThan(names.indexOf("after"));
    expect((await named("after")).status).toBe("loaded");
  });
});

describe("a plugin that misbehaves", () => {
  it("cannot take anything from Aegis by taking it from itself", async () => {
    expect(await use("delete_process")).toBe("gone");
    expect(await use("still_there")).toBe("still there");
    expect(await use("leak_timers")).toBe("leaked");
    expect(await use("still_there")).toBe("still there");
    expect(await use("bad_result")).toMatch(/BigInt/);
    expect(await use("throws_text")).toContain("a tool said no");
  });

  it("is cut short when it floods its log", async () => {
    expect(await use("flood")).toBe("flooded");
    const log = join(shared.project.dir, ".aegis/state/plugin-logs/rude.jsonl");
    await waitUntil("the log is written", async () => (await readFile(log, "utf8").catch(() => "")).includes("line 0"));
    expect((await readFile(log, "utf8")).split("\n").length).toBeLessThan(3_000);
  });

  it("fails the calls in progress when it ends, and comes back", { tags: "slow" }, async () => {
    expect(await use("die_now")).toMatch(/the plugin "dies" stopped while it was working: .*exited with code 7/);
    expect(await use("alive")).toBe("alive");
    expect(await use("reject_later")).toMatch(/dies\.ts:3: nobody caught this/);
    expect(await use("alive")).toBe("alive");
    expect(await use("throw_later")).toMatch(/dies\.ts:5: from a timer/);
    expect(await use("alive")).toBe("alive");
    await untilPlugin(shared.daemon.client, "dies", (plugin) => plugin.status === "loaded");
  });

  it("is given up on when it does not answer in time, and ended when it is stuck", { tags: "slow" }, async () => {
    expect(await use("never_returns")).toMatch(/gave no answer within 0\.3 s/);
    expect(await use("after_hang")).toBe("fine");
    expect((await named("hangs")).status).toBe("loaded");
    expect(await use("endless")).toMatch(/gave no answer within 0\.3 s/);
    expect(await use("after_hang")).toBe("fine");
  });

  it("ends when it eats its memory up, alone", { tags: "slow" }, async () => {
    expect(await use("eat")).toMatch(/more than 256 MB of memory|stopped while it was working/);
    expect(await use("full")).toBe("hungry again");
    expect(await use("eat_buffers")).toMatch(/more than 256 MB of memory/);
    expect(await use("full")).toBe("hungry again");
  });

  it("leaves no secret behind that it was given, whatever it did with it", async () => {
    const state = join(shared.project.dir, ".aegis/state");
    for (const entry of await readdir(state, { recursive: true, withFileTypes: true }))
      if (entry.isFile())
        expect((await readFile(join(entry.parentPath, entry.name))).includes("a-long-secret-value"), entry.name).toBe(
          false,
        );
    expect(shared.daemon.output).not.toContain("a-long-secret-value");
  });

  it("leaves the daemon as it was", async () => {
    const session = await createSession(shared.daemon.client);
    expect(await talk(shared.daemon.client, session.id, "hello")).toBe("you said: hello");
  });
});
