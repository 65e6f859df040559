import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { checkTree, type Rules, readTree, staticClosure } from "./helpers/architecture.ts";

const ports = ["store/store.ts", "store/persist.ts", "engine/engine.ts", "drivers/driver.ts"];

/** The sentence as a table: clients know the contract, the contract knows nothing, only the daemon knows everything. */
const rules: Rules = {
  layers: {
    contract: [],
    lib: [],
    store: ["contract", "lib"],
    engine: ["contract", "lib", "store/store.ts", "store/persist.ts"],
    drivers: ["contract", "lib"],
    "plugin-api": ["contract", "lib/nearest.ts"],
    catalog: ["plugin-api"],
    client: ["contract"],
    runtime: ["contract", "lib", "plugin-api", ...ports],
    plane: ["contract", "lib", "runtime", ...ports],
    server: ["contract", "lib", "runtime"],
    daemon: ["contract", "lib", "store", "engine", "drivers", "plugin-api", "catalog", "runtime", "plane", "server"],
    local: ["contract", "lib", "client"],
    cli: ["contract", "lib", "client", "local"],
  },
  lazyLayers: { cli: ["daemon"] },
  ordered: [
    "registry",
    "agents",
    "commands",
    "plugins",
    "skills",
    "events",
    "inbox",
    "sessions",
    "subagents",
    "pool",
    "queues",
    "groups",
    "asks",
    "hooks",
    "workflows",
    "schedules",
  ].map((folder) => `runtime/${folder}`),
  isolated: [{ folder: "drivers", shared: ["drivers/cli-harness"] }],
  packages: {
    zod: ["contract", "plugin-api", "runtime", "plane", "server", "daemon", "drivers"],
    commander: ["cli"],
    hono: ["server"],
    "@hono/node-server": ["server"],
    croner: ["lib/cron.ts"],
    pino: ["daemon/logger.ts"],
    yaml: ["lib/frontmatter.ts", "daemon/config", "drivers/scripted", "cli/commands/init.ts", "cli/commands/config.ts"],
    yauzl: ["lib/safe-extract.ts"],
    "@modelcontextprotocol/server": ["plane/mcp-endpoint.ts"],
    "@agentclientprotocol/sdk": ["drivers/acp"],
    ai: ["drivers/native"],
    "@ai-sdk/anthropic": ["drivers/native/sdk.ts"],
    "@ai-sdk/google": ["drivers/native/sdk.ts"],
    "@ai-sdk/openai": ["drivers/native/sdk.ts"],
    "@ai-sdk/openai-compatible": ["drivers/native/sdk.ts"],
    "@ai-sdk/provider": ["drivers/native"],
    "smol-toml": ["runtime/plugins/manifest", "runtime/plugins/install"],
    semver: ["runtime/plugins"],
    jiti: ["runtime/plugins/worker"],
  },
  restricted: [
    { what: "console", pattern: /\bconsole\./, allowed: [] },
    { what: "process.env", pattern: /\bprocess\.env\b/, allowed: ["cli/main.ts", "cli/terminal.ts", "daemon/main.ts"] },
    {
      what: "process.exit",
      pattern: /\bprocess\.exit\(/,
      allowed: ["cli/main.ts", "cli/terminal.ts", "daemon/main.ts"],
    },
    {
      what: "child_process",
      pattern: /["']node:child_process["']/,
      allowed: ["lib/process.ts", "lib/process", "lib/daemon-file.ts", "cli/daemon-process.ts"],
    },
    {
      what: "process.kill",
      pattern: /\bprocess\.kill\(/,
      allowed: ["lib/process.ts", "lib/process", "cli/daemon-process.ts"],
    },
  ],
  maxLines: 320,
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

  it.each(["cli/main.ts", "cli/commands/status.ts"])("keeps %s quick to load", (entry) => {
    const heavy = ["zod", "hono", "yaml", "pino", "@modelcontextprotocol/server", "@agentclientprotocol/sdk", "ai"];
    const closure = staticClosure(files, entry);
    expect(heavy.filter((name) => closure.has(name))).toEqual([]);
    expect(closure.size).toBeGreaterThan(1);
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

  it("lets the CLI load the daemon lazily, never at once", () => {
    expect(problemsOf({ ...target, "cli/good.ts": 'export const load = () => import("../daemon/run.ts");\n' })).toEqual(
      [],
    );
    expect(problemsOf({ ...target, "cli/bad.ts": 'import { run } from "../daemon/run.ts";\nrun;\n' })).toHaveLength(1);
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
