import { execFile } from "node:child_process";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { loadConfig } from "@aegis/project/config/load.ts";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createProject, harnesses } from "../../../daemon/project/test/config/project.ts";
import * as config from "../src/commands/project/config.ts";
import { type InitArgs, init } from "../src/commands/project/init.ts";
import type { CliContext } from "../src/terminal/context.ts";
import { createOutput } from "../src/terminal/output.ts";

function terminal(cwd: string, options: { json?: boolean; answers?: string } = {}) {
  let out = "";
  let err = "";
  const stdin = new PassThrough();
  stdin.end(options.answers ?? "");
  const cx: CliContext = {
    ...createOutput({
      json: options.json ?? false,
      color: false,
      write: (text) => {
        out += text;
      },
      warn: (line) => {
        err += `${line}\n`;
      },
    }),
    cwd,
    env: {},
    interactive: options.answers !== undefined,
    columns: 100,
    rows: 24,
    stdin,
  };
  return { cx, out: () => out, err: () => err, answer: () => JSON.parse(out) as unknown };
}

const team = `# my team
default_agent: dev
agents:
  dev:
    harness: codex
    model: big # for now
    env: {API_KEY: sk-live, HOME_DIR: /x}
queues:
  build: {agent: dev}
`;

/** The options of `config queue add` without a value. */
const noQueue = {
  agent: "dev",
  maxParallel: undefined,
  check: undefined,
  checkRetries: undefined,
  checkTimeoutMs: undefined,
};

describe("aegis config", () => {
  it("shows the resolved configuration, where it comes from, and no secret", async () => {
    const { root } = await createProject({ ".aegis.yaml": team, ".aegis/queues/late.yaml": "agent: dev\n" });
    const text = terminal(root);
    expect(await config.configShow(text.cx)).toBe(0);
    expect(text.out()).toContain("# from: .aegis.yaml\n# from: .aegis/queues/late.yaml\n");
    expect(text.out()).not.toContain("sk-live");
    expect(parse(text.out())).toMatchObject({ default_agent: "dev", queues: { late: { max_parallel: 1 } } });
    const json = terminal(root, { json: true });
    await config.configShow(json.cx);
    expect(json.answer()).toMatchObject({ root, problems: [], config: { agents: { dev: { model: "big" } } } });
  });

  it("shows every problem with its path from here, and fails", async () => {
    const { root } = await createProject({ ".aegis.yaml": "agnets: {}\npool: {max: 0}\n", "sub/x": "" });
    const text = terminal(join(root, "sub"));
    expect(await config.configShow(text.cx)).toBe(2);
    expect(text.err()).toMatch(/^\.\.\/\.aegis\.yaml:1:1 agnets: .*\n\.\.\/\.aegis\.yaml:2:13 pool\.max: /);
    const json = terminal(root, { json: true });
    expect(await config.configShow(json.cx)).toBe(2);
    expect(json.answer()).toMatchObject({ config: null, problems: [{ line: 1 }, { line: 2, column: 13 }] });
    await expect(config.configGet(terminal(root).cx, { key: "pool" })).rejects.toThrow("agnets");
  });

  it.each([
    ["agents.dev.model", "big\n", "big"],
    ["agents.dev.effort", "\n", null],
    ["server.token_file", "\n", null],
    ["telegram", "\n", null],
    ["pool.max", "15\n", 15],
    ["plugin_dirs", "- .aegis/plugins\n", [".aegis/plugins"]],
    ["plugin_dirs.0", ".aegis/plugins\n", ".aegis/plugins"],
    ["agents.dev.env", 'API_KEY: "********"\nHOME_DIR: /x\n', { API_KEY: "********", HOME_DIR: "/x" }],
    ["agents.dev.env.API_KEY", "sk-live\n", "sk-live"],
  ])("gets %s", async (key, printed, value) => {
    const { root } = await createProject({ ".aegis.yaml": team });
    const text = terminal(root);
    expect(await config.configGet(text.cx, { key })).toBe(0);
    expect(text.out()).toBe(printed);
    const json = terminal(root, { json: true });
    await config.configGet(json.cx, { key });
    expect(json.answer()).toEqual(value);
  });

  it.each([
    ["agents.dve", 'no key "agents.dve" (did you mean "dev"?)'],
    ["agents.dev.modle", 'did you mean "model"?'],
    ["pol.max", 'no key "pol.max"'],
    ["a..b", "expected keys joined by dots"],
  ])("refuses to get %s", async (key, message) => {
    const { root } = await createProject({ ".aegis.yaml": team });
    await expect(config.configGet(terminal(root).cx, { key })).rejects.toThrow(message);
  });

  it("sets values as YAML, keeps comments, and tells which file changed", async () => {
    const project = await createProject({ ".aegis.yaml": team });
    const set = async (key: string, value: string, local = false) => {
      const text = terminal(project.root);
      await config.configSet(text.cx, { key, value, local });
      return text;
    };
    expect((await set("agents.dev.model", "small")).out()).toBe("set agents.dev.model (.aegis.yaml)\n");
    await set("plugin_dirs", "[a, 'b c']");
    await set("pool.max", "3");
    await set("plugins.enabled", "false");
    const edited = await project.read();
    expect(edited).toContain("    model: small # for now\n");
    expect(parse(edited)).toMatchObject({ plugin_dirs: ["a", "b c"], pool: { max: 3 }, plugins: { enabled: false } });
    expect((await set("pool.max", "3")).out()).toBe("nothing to change: set pool.max\n");
    await set("pool.max", "9", true);
    expect(await project.read(".aegis.local.yaml")).toBe("pool:\n  max: 9\n");
    expect((await set("pool.max", "4")).err()).toContain(".aegis.local.yaml also sets pool.max");
    await expect(set("pool.mx", "4")).rejects.toThrow('did you mean "max"?');
    await expect(set("pool.max", "[")).rejects.toThrow("expected a YAML value");
    await expect(set("pool.max", "three")).rejects.toThrow('pool.max: expected a number, found "three"');
  });

  it("adds, lists and removes agents", async () => {
    const project = await createProject({ ".aegis.yaml": team });
    const json = terminal(project.root, { json: true });
    const rev = { slug: "rev", harness: "claude-code", model: "sonnet", effort: "high", permission: "read" };
    expect(await config.configAgentAdd(json.cx, rev)).toBe(0);
    expect(json.answer()).toEqual({ ok: true, file: join(project.root, ".aegis.yaml"), changed: true });
    const list = terminal(project.root);
    await config.configAgentList(list.cx);
    expect(list.out()).toMatch(/dev \*\s+codex\s+big\s+-\s+auto\nrev\s+claude-code\s+sonnet\s+high\s+read\n/);
    expect(list.out()).not.toContain("sk-live");
    await expect(config.configAgentAdd(terminal(project.root).cx, rev)).rejects.toThrow("already declared");
    const codx = config.configAgentAdd(terminal(project.root).cx, { ...rev, slug: "x", harness: "codx" });
    await expect(codx).rejects.toThrow('found "codx" (did you mean "codex"?)');
    await config.configDefaultAgent(terminal(project.root).cx, { slug: "rev" });
    await expect(config.configDefaultAgent(terminal(project.root).cx, { slug: "rve" })).rejects.toThrow(
      'did you mean "rev"?',
    );
    const inUse = config.configAgentRemove(terminal(project.root).cx, { slug: "dev" });
    await expect(inUse).rejects.toThrow(
      /nothing was changed[\s\S]*queues\.build\.agent: expected the name of a declared agent, found "dev"/,
    );
    const asDefault = config.configAgentRemove(terminal(project.root).cx, { slug: "rev" });
    await expect(asDefault).rejects.toThrow(/default_agent: expected the name of a declared agent, found "rev"/);
    await expect(config.configAgentRemove(terminal(project.root).cx, { slug: "dve" })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining('did you mean "dev"?'),
    });
    await config.configQueueRemove(terminal(project.root).cx, { name: "build" });
    expect(await config.configAgentRemove(terminal(project.root).cx, { slug: "dev" })).toBe(0);
    expect(await project.read()).toMatch(/^# my team\n/);
  });

  it("adds and lists queues and plugin folders", async () => {
    const project = await createProject({ ".aegis.yaml": team });
    await config.configQueueAdd(terminal(project.root).cx, { ...noQueue, name: "docs", maxParallel: 3 });
    const list = terminal(project.root, { json: true });
    await config.configQueueList(list.cx);
    expect(list.answer()).toMatchObject({
      queues: [
        { name: "build", agent: "dev" },
        { name: "docs", max_parallel: 3 },
      ],
    });
    const checked = {
      ...noQueue,
      name: "fixes",
      check: "npm test",
      checkRetries: 0,
      checkTimeoutMs: 90_000,
    };
    await config.configQueueAdd(terminal(project.root).cx, checked);
    expect(parse(await project.read())).toMatchObject({
      queues: { fixes: { agent: "dev", check: { command: "npm test", max_retries: 0, timeout: 90 } } },
    });
    const without = { ...noQueue, name: "other", checkRetries: 1 };
    await expect(config.configQueueAdd(terminal(project.root).cx, without)).rejects.toThrow("need --check");
    const wrong = { ...noQueue, name: "other", check: " " };
    await expect(config.configQueueAdd(terminal(project.root).cx, wrong)).rejects.toThrow(
      /nothing was changed[\s\S]*queues\.other\.check/,
    );
    await config.configPluginDirAdd(terminal(project.root).cx, { path: "mine" });
    await config.configPluginDirRemove(terminal(project.root).cx, { path: ".aegis/plugins" });
    expect(parse(await project.read())).toMatchObject({ plugin_dirs: ["mine"] });
  });
});

describe("aegis init", () => {
  const detected: InitArgs = {
    yes: true,
    force: false,
    harnesses,
    agent: {
      slug: "claude",
      harness: "claude-code",
      permission: "auto",
      why: "Claude Code is installed (/usr/bin/claude)",
    },
  };

  it("writes a file that loads, and says what to do next", async () => {
    const { root, read } = await createProject({});
    const text = terminal(root);
    expect(await init(text.cx, detected)).toBe(0);
    const { config: loaded, problems } = await loadConfig({ cwd: root, harnesses });
    expect(problems).toEqual([]);
    expect(loaded).toMatchObject({
      default_agent: "claude",
      agents: { claude: { harness: "claude-code", permission: "auto" } },
    });
    expect(text.out()).toMatch(/Claude Code is installed[\s\S]*Next:\n {2}aegis {2,}open the terminal app/);
    await expect(access(join(root, ".gitignore"))).rejects.toThrow("ENOENT");
    // Every example in the file is right once it is switched on.
    const switchedOn = (await read())
      .replaceAll(/^( *)# ((?: {2})*(?:[a-z_]+:( |$)).*)$/gm, "$1$2")
      .replace(": …", ": x");
    await writeFile(join(root, ".aegis.yaml"), switchedOn);
    await mkdir(join(root, "prompts"));
    await writeFile(join(root, "prompts/claude.md"), "x");
    const all = await loadConfig({ cwd: root, harnesses });
    expect(all.problems).toEqual([]);
    expect(Object.keys(all.config?.agents ?? {})).toEqual(["claude", "reviewer"]);
    expect(Object.keys(all.config?.models ?? {})).toEqual(["local", "hosted"]);
    expect(all.config?.agents.claude).toMatchObject({
      effort: "medium",
      model: "x",
      prompt: { file: "prompts/claude.md" },
    });
  });

  it("replaces a file only when it is forced to", async () => {
    const { root, read } = await createProject({ ".aegis.yaml": "# mine\n" });
    await expect(init(terminal(root).cx, detected)).rejects.toMatchObject({ code: "conflict" });
    expect(await read()).toBe("# mine\n");
    expect(await init(terminal(root).cx, { ...detected, force: true })).toBe(0);
    expect(await read()).toContain("default_agent: claude");
  });

  it("writes nothing when the project would not load", async () => {
    const { root, read } = await createProject({ ".aegis/agents/claude.yaml": "harness: codex\n" });
    await expect(init(terminal(root).cx, detected)).rejects.toThrow('"claude" to be declared once');
    await expect(read()).rejects.toThrow("ENOENT");
  });

  it("keeps the settings of one machine out of git as they are made", async () => {
    const { root, read } = await createProject({ ".git/HEAD": "", ".aegis.yaml": "" });
    await config.configSet(terminal(root).cx, { key: "pool.max", value: "9", local: true });
    expect(await read(".gitignore")).toContain(".aegis.local.yaml\n");
  });

  it("keeps private files out of git, once", async () => {
    const { root, read } = await createProject({ ".git/HEAD": "", ".gitignore": "node_modules\n/.aegis/state/" });
    await init(terminal(root).cx, detected);
    expect(await read(".gitignore")).toBe("node_modules\n/.aegis/state/\n.aegis.local.yaml\n");
    await init(terminal(root).cx, { ...detected, force: true });
    expect(await read(".gitignore")).toBe("node_modules\n/.aegis/state/\n.aegis.local.yaml\n");
  });

  it("asks a person, with defaults, until the answers make sense", async () => {
    const { root } = await createProject({});
    const text = terminal(root, { answers: "codx\ncodex\n\n" });
    expect(await init(text.cx, { ...detected, yes: false })).toBe(0);
    expect(text.out()).toContain('"codx" is not one of them (did you mean "codex"?)');
    const { config: loaded } = await loadConfig({ cwd: root, harnesses });
    expect(loaded?.agents).toMatchObject({ codex: { harness: "codex", permission: "auto", model: null } });
  });

  it("writes nothing when the person leaves", async () => {
    const { root, read } = await createProject({});
    expect(await init(terminal(root, { answers: "codex\n" }).cx, { ...detected, yes: false })).toBe(130);
    await expect(read()).rejects.toThrow("ENOENT");
  });
});

describe("the installed command", () => {
  it("sets a project up and changes it", async () => {
    const { root, read } = await createProject({});
    expect(await aegis(root, "init", "--yes")).toMatchObject({ code: 0 });
    const first = await read();
    expect(await aegis(root, "config", "set", "agents.rev", "{harness: scripted}")).toMatchObject({ code: 0 });
    expect(await aegis(root, "config", "set", "agents.rev.model", "m")).toMatchObject({ code: 0 });
    expect(await aegis(root, "config", "get", "agents.rev.model")).toEqual({ code: 0, out: "m\n", err: "" });
    const wrong = await aegis(root, "config", "set", "agents.rev.modle", "m", "--json");
    expect(wrong.code).toBe(2);
    expect(JSON.parse(wrong.out)).toMatchObject({
      error: { code: "invalid", details: { problems: [{ key: "agents.rev.modle" }] } },
    });
    expect(wrong.err).toContain('did you mean "model"?');
    const show = await aegis(root, "config", "show", "--json");
    expect(JSON.parse(show.out)).toMatchObject({ problems: [], config: { agents: { rev: { model: "m" } } } });
    expect(await aegis(root, "config", "agent", "remove", "rev")).toMatchObject({ code: 0 });
    expect(await read()).toBe(first);
  });
});

async function aegis(cwd: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const entry = fileURLToPath(new URL("../../../../dist/cli.js", import.meta.url));
  return new Promise((resolve) => {
    const env = { PATH: "/usr/bin:/bin", HOME: cwd };
    execFile(process.execPath, [entry, ...args], { cwd, env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}
