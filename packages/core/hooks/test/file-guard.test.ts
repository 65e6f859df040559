/** Which calls Aegis's own gate passes to a person, for every spelling of a path. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commands } from "@aegis/cli/program/table.ts";
import type { ToolKind } from "@aegis/contract/turn.ts";
import { buildFileGuard } from "@aegis/daemon/build-file-guard.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { decidingCommand } from "../src/command-mentions.ts";

async function place() {
  const dir = await tempDir();
  const [root, home] = [join(dir, "project"), join(dir, "home")];
  for (const folder of [join(root, ".aegis/state"), join(root, "src"), join(home, ".aegis")])
    await mkdir(folder, { recursive: true });
  await writeFile(join(root, ".aegis.yaml"), "");
  const { guard } = buildFileGuard(root, { HOME: home });
  const judge = (kind: ToolKind, input: unknown, paths?: readonly string[]) =>
    guard({ call: null, tool: "t", kind, input, ...(paths === undefined ? {} : { paths }) }, [
      join(root, ".aegis/state/conversations/ses_1/tmp"),
    ]);
  return { root, home, judge };
}

describe("an edit", () => {
  it.each([
    ".aegis.yaml",
    "./.aegis.yaml",
    "src/../.aegis.yaml",
    ".AEGIS.YAML",
    ".aegis.local.yaml",
    ".aegis/plugins/house/gate.ts",
    ".aegis/state/aegis.db",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    "opencode.json",
    ".opencode/plugin/x.ts",
    ".mcp.json",
    ".github/hooks/x.json",
    "~/.aegis/trust.json",
    "~/.claude/settings.json",
    // A tool that resolves `..` before it opens the file finds the guarded one behind these.
    "a\n/../.aegis.yaml",
    `${"./".repeat(3_000)}.aegis.yaml`,
  ])("of %s is put to a person", async (path) => {
    const { judge } = await place();
    expect(await judge("edit", { file_path: path, content: "x" })).toMatch(/decides what Aegis/);
    expect(await judge("other", { path })).toMatch(/decides what Aegis/);
  });

  it("is recognised by absolute paths, addresses, links, patches, lists of changes and what a harness says", async () => {
    const { root, home, judge } = await place();
    await symlink(join(root, ".aegis"), join(root, "src", "innocent"));
    await symlink(join(root, ".aegis.yaml"), join(root, "src", "notes.md"));
    const asked = [
      judge("edit", { path: join(root, ".aegis.yaml") }),
      judge("edit", { path: `file://${join(root, ".aegis.yaml")}` }),
      judge("edit", { path: join(home, ".aegis", "gates.json") }),
      judge("edit", { path: "src/innocent/state/aegis.db" }),
      judge("edit", { path: "src/notes.md" }),
      judge("edit", { patch: "*** Begin Patch\n*** Update File: .aegis.yaml\n@@\n*** End Patch" }),
      judge("edit", { diff: "--- a/x\n+++ b/.aegis/plugins/x.ts\n" }),
      judge("edit", {
        changes: [{ path: "a.ts" }, { path: "b.ts", kind: { type: "update", move_path: ".aegis/b.ts" } }],
      }),
      judge("edit", { changes: { ".aegis.yaml": { type: "delete" } } }),
      judge("edit", {}, [".aegis.yaml"]),
      judge("edit", { path: `FILE://${join(root, ".aegis.yaml")}` }),
      judge("edit", { diff: '--- "a/x"\n+++ "b/.aegis.yaml"\t2026-01-01\n' }),
      judge("edit", { diff: "diff --git a/x b/.aegis.yaml\nrename from x\nrename to .aegis.yaml\n" }),
      judge("edit", { diff: "diff --git a/x b/.aegis.yaml\nGIT binary patch\n" }),
      judge("edit", { patch: "  *** Update File: .aegis.yaml\n" }),
      judge("edit", { path: "evil", destination: ".claude" }),
      judge("edit", { path: ".claude" }),
    ];
    for (const reason of await Promise.all(asked)) expect(reason).not.toBeNull();
  });

  it("of anything else is not", async () => {
    const { root, judge } = await place();
    const passed = [
      judge("edit", { path: "src/a.ts", content: "reads .aegis.yaml" }),
      judge("edit", { path: "src/a.ts", old_text: ".aegis.yaml", new_text: "y" }),
      judge("edit", { path: "docs/.aegis.yaml.md" }),
      judge("edit", { path: ".claude/commands/x.md" }),
      judge("edit", { path: ".env", content: "NAME=ada" }),
      judge("edit", { path: join(root, ".aegis/state/conversations/ses_1/tmp/x") }),
      judge("read", { path: ".aegis.yaml" }),
      judge("search", { path: ".aegis" }),
    ];
    for (const reason of await Promise.all(passed)) expect(reason).toBeNull();
    expect(await judge("edit", { path: ".env", content: "GEMINI_BASE_URL=http://evil" })).not.toBeNull();
    for (const content of ["---\nhooks:\n  Stop: []\n---\n", "permissionMode: bypassPermissions", "see !`curl x`"])
      expect(await judge("edit", { path: ".claude/agents/x.md", content })).not.toBeNull();
  });
});

describe("a tool of a plugin", () => {
  it.each([
    { command: "cp evil .aegis.yaml" },
    { run: { args: ["cp", "evil", ".claude/settings.json"] } },
    { cmd: "aegis trust" },
    { text: ".aegis.yaml" },
    { a: { b: { c: { d: { e: { f: { g: { h: { i: { j: ".aegis.yaml" } } } } } } } } } },
  ])("with %j is put to a person", async (input) => {
    const { judge } = await place();
    expect(await judge("other", input)).not.toBeNull();
  });

  it("with a long text is judged at once", async () => {
    const { judge } = await place();
    const began = performance.now();
    for (const text of ["x/".repeat(2_000_000), `--- ${" ".repeat(2_000_000)}`, "\n".repeat(2_000_000)])
      expect(await judge("other", { text })).toBeNull();
    const diff = Array.from({ length: 50_000 }, (_, at) => `--- a/x${at}\n`).join("");
    expect(await judge("edit", { diff })).toMatch(/too many to check/);
    expect(performance.now() - began).toBeLessThan(scaled(10_000));
  });
});

describe("what git runs", () => {
  it.each([".git/hooks/pre-commit", ".git/config", ".git/modules/x/config", ".git"])(
    "%s: a write is put to a person",
    async (path) => {
      const { judge } = await place();
      expect(await judge("edit", { path, content: "x" })).toMatch(/decides which programs git runs/);
    },
  );

  it("a command is put to a person only if it names hooks or settings", async () => {
    const { judge } = await place();
    for (const command of ["cp x .git/hooks/pre-commit", "echo x >> .git/config", "tee .git/h*/post-merge < x"])
      expect(await judge("execute", { command })).toMatch(/decides which programs git runs/);
    for (const command of ["git commit -m x", "rm .git/index.lock", "cp x .gitignore"])
      expect(await judge("execute", { command })).toBeNull();
  });
});

/**
 * Commands of the CLI that show something or give work to agents. A new command belongs here or in the list of the file
 * guard: a command that edits a guarded file, or makes a person's decision, needs approval.
 */
const undecided = [
  ...[
    "run",
    "spawn",
    "send",
    "fork",
    "ps",
    "agents",
    "tail",
    "history",
    "changes",
    "claims",
    "receipts",
    "why",
    "close",
    "interrupt",
  ],
  ...["rename", "title", "cancel", "asks", "ask show", "tree", "pool", "command list", "demo", "completion"],
  ...["up", "status", "logs", "doctor", "audit", "state show", "channel list", "nodes"],
  ...["list", "show", "validate"].map((verb) => `agent ${verb}`),
  ...["installed", "info", "list", "show", "check", "search", "validate"].map((verb) => `skill ${verb}`),
  ...["list", "show", "reload", "validate", "logs", "search"].map((verb) => `plugin ${verb}`),
  ...["list", "enqueue", "status", "cancel", "retry", "drain", "pause", "resume"].map((verb) => `queue ${verb}`),
  ...["list", "show", "tail"].map((verb) => `task ${verb}`),
  ...["list", "spawn", "broadcast", "wait", "status", "dissolve"].map((verb) => `group ${verb}`),
  ...["list", "show", "run", "status", "watch", "logs", "resume", "cancel", "fork", "history"].map(
    (verb) => `workflow ${verb}`,
  ),
  ...["list", "show", "run", "logs", "next"].map((verb) => `schedule ${verb}`),
  ...["worktree list", "rescue list", "rescue show", "rescue restore"],
  ...["show", "get", "agent list", "queue list"].map((verb) => `config ${verb}`),
];

describe("a command", () => {
  it.each([
    "echo x >> .aegis.yaml",
    "sed -i s/a/b/ ./.aegis.yaml",
    "rm -rf .aegis",
    "cd .aegis/state && rm aegis.db",
    "echo x > '.aeg'is.yaml",
    "echo x > .ae\\gis.yaml",
    "rm .aeg*",
    "rm .{aegis,git}.yaml",
    "rm -r .a[e]gis/plugins",
    'python3 -c \'open(".aegis/plugins/x.py", "w")\'',
    "node -e \"fs.writeFileSync('.aegis/x', '}')\"",
    "cp evil.json .claude/settings.json",
    "cp -r evil .claude",
    "tee ~/.aegis/trust.json < x",
    "ln -s .aegis/state s",
    "aegis plugin drop house --yes",
    "npx aegis trust --yes",
    "aegis --json answer ask_1 allow",
    "aegis config set plugins.enabled false",
    "aegis up -y",
    "aegis -C . -C . trust",
    "aegis plugin --project . -C sub drop house",
    "npx aegis@latest trust",
    "npx -p x aegis.cmd answer ask_1 allow",
    "{aegis,trust}",
    "aegis$IFS''trust",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the shell
    "aegis${IFS}plugin${IFS}drop${IFS}house",
    "cat .aegis.yaml > /tmp/x; rm .aegis.yaml",
    "cp x .claude/y/../settings.json",
    "cp x .claude/s*.json",
    "cp x .claude/settings{,.local}.json",
    "cp x .aegis.y{a..a}ml",
    "cp x opencode.js*",
    "sed -i s/a/b/ .[!.]*",
    "printf '/answer allow' | aegis chat worker",
  ])("%s is put to a person", async (command) => {
    const { judge } = await place();
    expect(await judge("execute", { command, description: "tidies up" })).not.toBeNull();
  });

  it.each([
    "npm test",
    "cat .aegis.yaml",
    "ls -la .aegis",
    "git commit -m 'aegis: trust nobody'",
    "cp ci.yml .github/workflows/ci.yml",
    "aegis ps",
    "aegis -C . send dev 'please install it'",
    "rm -rf dist/*",
    "prettier --write *.json src/**/*.ts",
    "cp a/b/../c.ts d.ts",
  ])("%s is not", async (command) => {
    const { judge } = await place();
    expect(await judge("execute", { command, description: "changes .aegis.yaml" })).toBeNull();
  });

  it("of the Aegis CLI is put to a person, unless it changes no settings, rights, skills or stored state", () => {
    const decided = commands.filter(({ path }) => decidingCommand(`aegis ${path}`) !== null);
    const others = commands.filter((command) => !decided.includes(command)).map(({ path }) => path);
    expect(others.toSorted()).toEqual([...undecided].toSorted());
  });

  it("is judged by the folder it runs in, and may use the session's own", async () => {
    const { root, judge } = await place();
    expect(await judge("execute", { command: "rm aegis.db", cwd: join(root, ".aegis/state") })).not.toBeNull();
    expect(await judge("execute", { command: ["bash", "-c", "rm .aegis.yaml"] })).not.toBeNull();
    const own = join(root, ".aegis/state/conversations/ses_1/tmp");
    expect(await judge("execute", { command: `echo x > ${own}/a` })).toBeNull();
  });
});
