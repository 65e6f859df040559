/** Which calls Aegis's own gate passes to a person, for every spelling of a path. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ToolKind } from "@aegis/contract/turn.ts";
import { buildFileGuard } from "@aegis/daemon/build-file-guard.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";

async function place() {
  const dir = await tempDir();
  const [root, home] = [join(dir, "project"), join(dir, "home")];
  for (const folder of [join(root, ".aegis/state"), join(root, "src"), join(home, ".aegis")])
    await mkdir(folder, { recursive: true });
  await writeFile(join(root, ".aegis.yaml"), "");
  const { guard } = buildFileGuard(root, { HOME: home });
  const conversation = join(root, ".aegis/state/conversations/ses_1");
  const own = { writes: [join(conversation, "tmp")], reads: [conversation] };
  const judge = (kind: ToolKind, input: unknown, paths?: readonly string[]) =>
    guard({ call: null, tool: "t", kind, input, ...(paths === undefined ? {} : { paths }) }, own);
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
      judge("read", { path: ".aegis" }),
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

/** What gives the rights of the user: the token, the key, the records, and what others said. */
describe("a read", () => {
  it.each([
    { kind: "read", input: { path: ".aegis/state/daemon.json" } },
    { kind: "read", input: { path: ".AEGIS/State/daemon.json" } },
    { kind: "read", input: { path: "src/../.aegis/./state/aegis.db" } },
    { kind: "read", input: { file_path: "src/innocent/daemon.json" } },
    { kind: "read", input: { path: ".aegis/state/overflow/../daemon.json" } },
    { kind: "read", input: { path: ".aegis/state/conversations/ses_2/settings.json" } },
    { kind: "read", input: { path: "~/.aegis/key" } },
    { kind: "read", input: { path: "$HOME/.aegis/trust.json" } },
    { kind: "read", input: { paths: ["a.ts", "~/.aegis/gates.json"] } },
    { kind: "read", input: {}, paths: [".aegis/state/daemon.json"] },
    { kind: "search", input: { pattern: "token", path: ".aegis/state" } },
    { kind: "search", input: { pattern: "token", path: ".aegis" } },
    { kind: "search", input: { pattern: "token", glob: ".aegis/st*/*.json" } },
    { kind: "fetch", input: { url: "file://$ROOT/.aegis/state/daemon.json" } },
    { kind: "think", input: { path: ".aegis/state/daemon.json" } },
    { kind: "execute", input: { command: "cat .aegis/state/daemon.json" } },
    { kind: "execute", input: { command: "head -5 src/../.aegis/state/daemon.json" } },
    { kind: "execute", input: { command: "cat daemon.json", cwd: ".aegis/state" } },
    { kind: "execute", input: { command: "ls", cwd: ".aegis/state" } },
    { kind: "execute", input: { command: "cat src/innocent/daemon.json" } },
    { kind: "execute", input: { command: "grep -r token .aegis" } },
    { kind: "execute", input: { command: ["cat", ".aegis/state/daemon.json"] } },
    { kind: "execute", input: { command: "cat ~/.aegis/key" } },
    { kind: "execute", input: { command: "jq -r .token .aegis/state/daemon.json" } },
    { kind: "other", input: { args: ["cat", ".aegis/state/daemon.json"] } },
  ] as const)("%j is put to a person", async ({ kind, input, ...more }) => {
    const { root, judge } = await place();
    await symlink(join(root, ".aegis/state"), join(root, "src", "innocent"));
    const given = JSON.parse(JSON.stringify(input).replace("$ROOT", root)) as unknown;
    expect(await judge(kind, given, "paths" in more ? more.paths : undefined)).not.toBeNull();
  });

  it.each([
    { kind: "read", input: { path: "src/a.ts" } },
    { kind: "read", input: { path: ".aegis/plugins/house.ts" } },
    { kind: "read", input: { path: ".aegis/state/overflow/tool-1.txt" } },
    { kind: "read", input: { path: ".aegis/state/attachments/x.png" } },
    { kind: "read", input: { path: ".aegis/state/conversations/ses_1/home/tool-output.txt" } },
    { kind: "read", input: { path: "~/.aegis/skills/pdf/SKILL.md" } },
    { kind: "read", input: { path: "~/.aegis/plugins/x/skills/y/SKILL.md" } },
    { kind: "search", input: { pattern: ".aegis/state", path: "docs" } },
    { kind: "search", input: { pattern: "x" } },
    { kind: "fetch", input: { url: "https://example.com/.aegis/state" } },
    { kind: "think", input: { todos: [{ content: "look at .aegis/state" }] } },
    { kind: "execute", input: { command: "cat .aegis/state/overflow/tool-1.txt" } },
    { kind: "execute", input: { command: "cat .aegis.yaml" } },
    { kind: "execute", input: { command: "ls -la .aegis" } },
    { kind: "execute", input: { command: "grep -rn token src" } },
  ] as const)("%j is not", async ({ kind, input }) => {
    const { judge } = await place();
    expect(await judge(kind, input)).toBeNull();
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

describe("what starts by itself", () => {
  it.each([".husky/pre-commit", ".husky/_/husky.sh", ".envrc", ".vscode/tasks.json"])(
    "%s: a write is put to a person, in an edit and in a command",
    async (path) => {
      const { judge } = await place();
      expect(await judge("edit", { path, content: "x" })).toMatch(/decides which programs start by themselves/);
      expect(await judge("execute", { command: `cp x ${path}` })).toMatch(/decides which programs start by themselves/);
      expect(await judge("execute", { command: `cat ${path}` })).toBeNull();
    },
  );

  it.each([".husky.md", ".envrc.example", ".vscode/extensions.json"])("%s is a plain file", async (path) => {
    const { judge } = await place();
    expect(await judge("edit", { path, content: "x" })).toBeNull();
  });
});

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
    "aegis -C . history dev",
    "rm -rf dist/*",
    "prettier --write *.json src/**/*.ts",
    "cp a/b/../c.ts d.ts",
  ])("%s is not", async (command) => {
    const { judge } = await place();
    expect(await judge("execute", { command, description: "changes .aegis.yaml" })).toBeNull();
  });

  it("is judged by the folder it runs in, and may use the session's own", async () => {
    const { root, judge } = await place();
    expect(await judge("execute", { command: "rm aegis.db", cwd: join(root, ".aegis/state") })).not.toBeNull();
    expect(await judge("execute", { command: ["bash", "-c", "rm .aegis.yaml"] })).not.toBeNull();
    const own = join(root, ".aegis/state/conversations/ses_1/tmp");
    expect(await judge("execute", { command: `echo x > ${own}/a` })).toBeNull();
  });
});
