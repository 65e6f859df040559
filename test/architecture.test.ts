import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { checkTree, type Rules, readTree, staticClosure } from "./helpers/architecture.ts";

const ports = ["store/store.ts", "store/transact.ts", "engine/engine.ts", "drivers/driver.ts"];

/** The sentence as a table: clients know the contract, the contract knows nothing, only the daemon knows everything. */
const rules: Rules = {
  layers: {
    contract: [],
    lib: [],
    store: ["contract", "lib"],
    engine: ["contract", "lib", "store/store.ts", "store/transact.ts"],
    drivers: ["contract", "lib"],
    "plugin-api": ["contract", "lib/nearest.ts", "lib/strict-json.ts"],
    catalog: ["plugin-api"],
    client: ["contract", "lib"],
    tui: ["contract", "lib", "client"],
    runtime: ["contract", "lib", "plugin-api", ...ports],
    packages: ["contract", "lib", "plugin-api", "runtime/plugins", "runtime/skills"],
    plane: ["contract", "lib", "runtime", "packages/skill/installer.ts", ...ports],
    channels: ["contract", "lib", "runtime", "store/store.ts"],
    server: ["contract", "lib", "runtime", "channels", "packages/skill/installer.ts"],
    project: ["contract", "lib", "store", "drivers", "catalog", "runtime", "packages"],
    daemon: [
      ...["contract", "lib", "store", "engine", "drivers", "plugin-api", "catalog"],
      ...["runtime", "channels", "packages", "plane", "server", "project"],
    ],
    "acp-agent": ["contract", "lib", "client"],
    "mcp-server": ["contract", "lib", "client"],
    cli: ["contract", "lib", "client"],
  },
  lazyLayers: { cli: ["project", "tui", "acp-agent", "mcp-server"], daemon: ["mcp-server"] },
  ordered: [
    "tables",
    "rights",
    "agents",
    "commands",
    "plugins",
    "skills",
    "events",
    "remote",
    "inbox",
    "sessions",
    "work",
    "checks",
    "subagents",
    "pool",
    "queues",
    "groups",
    "asks",
    "copies",
    "clients",
    "hooks",
    "workflows",
    "schedules",
    "cluster",
  ].map((folder) => `runtime/${folder}`),
  isolated: [
    { folder: "drivers", shared: ["drivers/cli-harness"] },
    { folder: "packages", shared: ["packages/scan"] },
    { folder: "channels", shared: ["channels/conversation"] },
  ],
  packages: {
    zod: [
      ...["contract", "plugin-api", "runtime", "packages", "plane", "server", "project", "daemon", "drivers"],
      "mcp-server",
    ],
    commander: ["cli"],
    "@earendil-works/pi-tui": ["tui"],
    croner: ["lib/cron.ts"],
    yaml: ["lib/frontmatter.ts", "project/config", "drivers/scripted", "cli/commands/project"],
    yauzl: ["lib/safe-extract.ts"],
    "@modelcontextprotocol/server": ["plane/mcp-endpoint.ts", "mcp-server"],
    "@agentclientprotocol/sdk": ["drivers/acp", "acp-agent"],
    ai: ["drivers/native"],
    "@ai-sdk/anthropic": ["drivers/native/sdk.ts"],
    "@ai-sdk/google": ["drivers/native/sdk.ts"],
    "@ai-sdk/openai": ["drivers/native/sdk.ts"],
    "@ai-sdk/openai-compatible": ["drivers/native/sdk.ts"],
    "@ai-sdk/provider": ["drivers/native"],
    "smol-toml": ["runtime/plugins/manifest"],
    stemmer: ["runtime/skills/words.ts"],
    semver: ["runtime/plugins", "packages/plugin"],
    jiti: ["runtime/plugins/worker"],
    pg: ["store/postgres"],
    grammy: ["channels/telegram"],
  },
  restricted: [
    { what: "console", pattern: /\bconsole\./, allowed: [] },
    // `lib/node-http.ts` says why.
    { what: "an import of node:http", pattern: /^import (?!type ).*["']node:http["']/m, allowed: [] },
    {
      what: "process.env",
      pattern: /\bprocess\.env\b/,
      allowed: ["cli/main.ts", "cli/terminal/terminal.ts", "daemon/main.ts", "runtime/plugins/worker/guard.ts"],
    },
    {
      what: "process.exit",
      pattern: /\bprocess\.exit\(/,
      allowed: ["cli/main.ts", "cli/terminal/terminal.ts", "daemon/main.ts"],
    },
    {
      what: "child_process",
      pattern: /["']node:child_process["']/,
      allowed: [
        "lib/process.ts",
        "lib/process",
        "lib/daemon-file.ts",
        "client/project/start-daemon.ts",
        "cli/daemon/daemon-process.ts",
        "cli/relaunch.ts",
        "cli/commands/project/demo-postgres.ts",
        "cli/commands/web/open-link.ts",
        "cli/terminal/user-programs.ts",
      ],
    },
    {
      what: "process.kill",
      pattern: /\bprocess\.kill\(/,
      // A program on the terminal that is suspended stops its own job, as the terminal would.
      allowed: [
        "lib/process.ts",
        "lib/process",
        "cli/daemon/daemon-process.ts",
        "cli/terminal/keyboard.ts",
        "cli/terminal/full-screen.ts",
      ],
    },
    { what: "Consent.grant", pattern: /\bConsent\.grant\b/, allowed: ["lib/own-consent.ts", "project/trust/judge.ts"] },
    {
      what: "Consent.spend",
      pattern: /\bConsent\.spend\b/,
      allowed: ["lib/process.ts", "runtime/plugins/host/worker.ts"],
    },
    {
      // A person's client, through the API, or a paired person, through a channel. A plugin's channel passes on what the
      // people say whom the user paired with it or listed for it; nothing else that an agent, a peer or a plugin reaches
      // answers an ask.
      what: "asks.answer",
      pattern: /\basks\.answer\(/,
      allowed: ["server/asks.ts", "cli/chat/slash.ts", "channels/conversation/answers.ts"],
    },
  ],
  maxLines: 400,
};

const files = readTree(fileURLToPath(new URL("../src", import.meta.url)));

describe("the source tree", () => {
  it("keeps the layers, has no cycle and no misplaced side effect", () => {
    const found = checkTree(files, rules).map(({ file, line, problem }) => `${file}:${line} ${problem}`);
    expect(found).toEqual([]);
  });

  it("has a rule for every folder, and a folder for every rule", () => {
    const folders = new Set(files.map((file) => file.path.split("/")[0] ?? ""));
    expect([...folders].sort()).toEqual(Object.keys(rules.layers).sort());
    const parts = new Set(files.flatMap((file) => /^runtime\/[^/]+/.exec(file.path) ?? []));
    expect([...parts].sort()).toEqual(rules.ordered.toSorted());
  });

  it("is drawn in ARCHITECTURE.md as it is, the runtime's folders in their order", () => {
    const page = readFileSync(fileURLToPath(new URL("../ARCHITECTURE.md", import.meta.url)), "utf8");
    const [tree = ""] = /^src\/\n(?: {2,}.*\n)+/m.exec(page) ?? [];
    const drawn = (indent: string) =>
      [...tree.matchAll(new RegExp(`^${indent}(\\S+)/ `, "gm"))].map(([, name]) => name);
    expect(drawn("  ").sort()).toEqual(Object.keys(rules.layers).sort());
    expect(drawn("    ").map((folder) => `runtime/${folder}`)).toEqual(rules.ordered);
  });

  it("installs with code that knows no kind of package", () => {
    const kinds = ["packages/plugin/", "packages/skill/"];
    const shared = files.filter(
      ({ path }) => path.startsWith("packages/") && !kinds.some((kind) => path.startsWith(kind)),
    );
    const known = shared.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => /\/(?:runtime|plugin|skill)\//.test(target))
        .map(({ target }) => `${path} ${target}`),
    );
    expect(shared.length).toBeGreaterThan(10);
    expect(known).toEqual([]);
  });

  it.each(["cli/main.ts", "cli/commands/daemon/status.ts"])("keeps %s quick to load", (entry) => {
    const heavy = [
      ...["zod", "yaml", "@modelcontextprotocol/server", "@agentclientprotocol/sdk", "ai"],
      ...["@earendil-works/pi-tui", "tui/main.ts"],
    ];
    const closure = staticClosure(files, entry);
    expect(heavy.filter((name) => closure.has(name))).toEqual([]);
    expect(closure.size).toBeGreaterThan(1);
  });
});

it("loads the code of a channel only when one is configured", () => {
  const closure = staticClosure(files, "daemon/run.ts");
  const loaded = [...closure].filter((one) => one === "grammy" || /^channels\/\w+\//.test(one));
  expect(loaded).toEqual([]);
  expect(closure).toContain("channels/channels.ts");
});

describe("what starts something", () => {
  /** Where each consent comes from: the judge of the project's content, or a reason of Aegis's own. */
  const starters: Record<string, readonly string[]> = {
    "channels/desktop/desktop.ts": ["own: notify"],
    "drivers/acp/open.ts": ["judge"],
    "drivers/claude-code/start.ts": ["judge"],
    "drivers/cli-harness/probe.ts": ["own: probe"],
    "drivers/codex/app-server.ts": ["judge"],
    "drivers/native/tools/bash.ts": ["judge"],
    "lib/git-fetch.ts": ["own: git"],
    "lib/git/run.ts": ["own: git"],
    "packages/plugin/script.ts": ["own: install"],
    "runtime/checks/command.ts": ["judge"],
    "runtime/copies/worktree-files.ts": ["judge"],
    "runtime/plugins/host/executable.ts": ["judge"],
    "runtime/workflows/shell-steps.ts": ["judge"],
  };

  /** Code in the daemon's own process. The worker that strips types runs no code of a plugin. */
  const workers: Record<string, readonly string[]> = {
    "runtime/plugins/host/worker.ts": ["judge"],
    "runtime/plugins/host/stripper.ts": [],
  };

  function consentsIn(text: string): string[] {
    const own = [...text.matchAll(/\bownConsent\("(\w+)"\)/g)].map(([, reason]) => `own: ${reason}`);
    const judged = /await (?:\w+\.)*(?:consent|ask)\(\)/.test(text) ? ["judge"] : [];
    return [...new Set([...own, ...judged])].sort();
  }

  const matching = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text));

  it("asks the judge for a process, or names one of the few programs of Aegis's own", () => {
    const found = matching(/\bprocesses\s*\.start\(/).map(({ path, text }) => [path, consentsIn(text)]);
    expect(Object.fromEntries(found)).toEqual(starters);
  });

  it("asks the judge for a worker with a plugin's code", () => {
    const found = matching(/\bnew Worker\(/).map(({ path, text }) => [path, consentsIn(text)]);
    expect(Object.fromEntries(found)).toEqual(workers);
    const openers = matching(/\bPluginWorker\.start\(/).map(({ path }) => path);
    expect(openers).toEqual(["runtime/plugins/host/code-host.ts"]);
  });

  it("gives a reason of Aegis's own only in the places that are known for it", () => {
    const given = matching(/\bownConsent\(/).flatMap(({ path, text }) =>
      path === "lib/own-consent.ts" ? [] : [[path, consentsIn(text)]],
    );
    const expected = Object.entries(starters).filter(([, [consent]]) => consent?.startsWith("own: "));
    expect(Object.fromEntries(given)).toEqual({
      ...Object.fromEntries(expected),
      "daemon/build-checks.ts": ["own: approved", "own: check"],
      "project/packages/try-staged.ts": ["own: install"],
      "project/plugins/validate.ts": ["own: validate"],
    });
  });

  it("knows the class of consents as a value only where they are granted or used up", () => {
    const importers = files.filter(({ imports }) =>
      imports.some(({ target, typeOnly }) => /(?:^|\/)consent\.ts$/.test(target) && !typeOnly),
    );
    expect(importers.map(({ path }) => path)).toEqual([
      "lib/own-consent.ts",
      "lib/process.ts",
      "project/trust/judge.ts",
      "runtime/plugins/host/worker.ts",
    ]);
  });

  it("starts programs in one module; the daemon itself is started by the command line", () => {
    const spawning = matching(/^import [^;]*\bspawn\b[^;]*"node:child_process"/m).map(({ path }) => path);
    // The command line starts the daemon, itself again under a newer Node, the database server of its demo, and the
    // user's browser, editor and clipboard.
    expect(spawning).toEqual([
      "cli/commands/project/demo-postgres.ts",
      "cli/commands/web/open-link.ts",
      "cli/daemon/daemon-process.ts",
      "cli/relaunch.ts",
      "cli/terminal/user-programs.ts",
      "lib/process.ts",
    ]);
  });

  it("asks the judge in every other place where content of the project is used", () => {
    const uses: Record<string, RegExp> = {
      "daemon/build-commands.ts": /judge\.command\(/,
      "daemon/build-plugins.ts": /judge\.pluginVerdict\(/,
      "daemon/build-skills.ts": /judge\.model\(/,
      "daemon/build-work.ts": /judge\.scheduleRefusal\([\s\S]*judge\.workflow\(/,
      "daemon/host.ts": /judge\.agreedFile\(/,
      "runtime/sessions/conversations.ts": /judge\.session\(/,
      "drivers/scripted/driver.ts": /host\.agreedFile\(/,
    };
    const silent = Object.entries(uses).filter(
      ([path, ask]) => !ask.test(files.find((file) => file.path === path)?.text ?? ""),
    );
    expect(silent.map(([path]) => path)).toEqual([]);
  });
});

describe("the check itself", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  function problemsOf(tree: Record<string, string>): string[] {
    const folder = mkdtempSync(join(tmpdir(), "architecture-"));
    folders.push(folder);
    for (const [path, text] of Object.entries(tree)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return checkTree(readTree(folder), rules).map(({ file, line, problem }) => `${file}:${line} ${problem}`);
  }

  const target = { "daemon/run.ts": "export const run = 1;\n" };

  it("passes a clean tree", () => {
    expect(problemsOf({ ...target, "daemon/main.ts": 'import { run } from "./run.ts";\nrun;\n' })).toEqual([]);
  });

  it.each([
    ["static", 'import { run } from "../daemon/run.ts";\n'],
    ["static over several lines", 'import {\n  run,\n} from "../daemon/run.ts";\n'],
    ["type-only", 'import type { run } from "../daemon/run.ts";\n'],
    ["side-effect", 'import "../daemon/run.ts";\n'],
    ["re-exported", 'export { run } from "../daemon/run.ts";\n'],
    ["star re-exported", 'export * from "../daemon/run.ts";\n'],
    ["lazy", 'export const load = () => import("../daemon/run.ts");\n'],
  ])("catches a %s import that breaks a layer", (_, text) => {
    expect(problemsOf({ ...target, "contract/bad.ts": text })[0]).toMatch(
      /^contract\/bad\.ts:1 contract must not import daemon\/run\.ts/,
    );
  });

  it("lets the CLI load what reads the project lazily, never at once, and the daemon never", () => {
    const read = { "project/read.ts": "export const read = 1;\n" };
    const lazily = (path: string) => `export const load = () => import("${path}");\n`;
    expect(problemsOf({ ...read, "cli/good.ts": lazily("../project/read.ts") })).toEqual([]);
    expect(problemsOf({ ...read, "cli/bad.ts": 'import { read } from "../project/read.ts";\nread;\n' })).toHaveLength(
      1,
    );
    expect(problemsOf({ ...target, "cli/bad.ts": lazily("../daemon/run.ts") })).toHaveLength(1);
  });

  it("catches what the runtime's order forbids, drivers that know each other, and cycles", () => {
    const late = { "runtime/queues/a.ts": "export const a = 1;\n" };
    expect(problemsOf({ ...late, "runtime/inbox/b.ts": 'import { a } from "../queues/a.ts";\na;\n' })).toHaveLength(1);
    const driver = { "drivers/codex/a.ts": "export const a = 1;\n" };
    expect(problemsOf({ ...driver, "drivers/acp/b.ts": 'import { a } from "../codex/a.ts";\na;\n' })).toHaveLength(1);
    const circle = {
      "lib/a.ts": 'import { b } from "./b.ts";\nexport const a = () => b;\n',
      "lib/b.ts": 'import { a } from "./a.ts";\nexport const b = () => a;\n',
    };
    expect(problemsOf(circle)[0]).toContain("import cycle: lib/a.ts → lib/b.ts → lib/a.ts");
  });

  it.each([
    ["console", 'console.log("x");\n'],
    ["process.env", "export const home = process.env.HOME;\n"],
    ["process.exit", "export const stop = () => process.exit(1);\n"],
    ["child_process", 'import { spawn } from "node:child_process";\nspawn;\n'],
    ["an unknown package", 'import left from "left-pad";\nleft;\n'],
  ])("catches %s where it does not belong", (_, text) => {
    expect(problemsOf({ "runtime/inbox/bad.ts": text })).toHaveLength(1);
  });
});

it("needs nothing at run time but the production dependencies, and uses each of them", () => {
  const manifest = JSON.parse(readFileSync(fileURLToPath(new URL("../package.json", import.meta.url)), "utf8"));
  const used = new Set(
    files.flatMap(({ text }) =>
      [...text.matchAll(/(?:from |import\(|\("?)["']((?:@[\w.-]+\/)?[a-z][\w.-]*)(?:\/[^"']*)?["']/g)].map(
        ([, name]) => name,
      ),
    ),
  );
  const production = Object.keys(manifest.dependencies);
  expect(production.filter((name) => !used.has(name))).toEqual([]);
  // "diff" is also an argument of git; as a package it would be imported.
  const words = ["node", "typescript", "diff"];
  const development = Object.keys(manifest.devDependencies).filter((name) => !words.includes(name));
  expect(files.filter(({ imports }) => imports.some(({ target }) => target === "diff"))).toEqual([]);
  const optional = Object.keys(manifest.peerDependenciesMeta);
  expect(development.filter((name) => used.has(name))).toEqual(optional);
  // An optional package is loaded where it is needed, never with the file that needs it; types cost nothing.
  const eager = files.flatMap(({ path, text }) =>
    optional.filter((name) => new RegExp(`^import (?!type )[^;]*["']${name}["']`, "m").test(text)).map(() => path),
  );
  expect(eager).toEqual([]);
});

describe("the web app", () => {
  const folder = fileURLToPath(new URL("../web", import.meta.url));
  const packages = ["preact", "@preact/signals", "marked", "diff", "highlight.js"];
  const app = readTree(folder).filter(({ path }) => path !== "build.ts");

  it("imports only itself, the client, the contract and the packages that it is made of", () => {
    const foreign = app.flatMap(({ path, imports }) =>
      imports
        .map(({ target }) => target)
        .filter((target) => !packages.some((name) => target === name || target.startsWith(`${name}/`)))
        .filter((target) => !target.startsWith(".") || /\/src\/(?!client\/|contract\/)/.test(target))
        .map((target) => `${path} imports ${target}`),
    );
    expect(foreign).toEqual([]);
    expect(app.length).toBeGreaterThan(10);
  });

  it("costs the daemon nothing before the first request for it", () => {
    const loaded = staticClosure(files, "server/server.ts");
    expect([...loaded].filter((path) => path === "server/web/files.ts")).toEqual([]);
    expect(loaded.has("server/web/browser-requests.ts")).toBe(true);
  });

  it("makes no HTML from strings", () => {
    const found = app.filter(({ text }) => /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });
});
