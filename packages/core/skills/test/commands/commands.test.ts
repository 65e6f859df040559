import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { typedCommand } from "@aegis/contract/command-names.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { CommandTable, type SlashCommand } from "../../src/commands/command-table.ts";
import { type CommandFolder, Commands } from "../../src/commands/commands.ts";
import { findCommandFiles } from "../../src/commands/files.ts";
import { fillArguments } from "../../src/commands/fill.ts";
import { parseCommandPage } from "../../src/commands/page.ts";

const nobody = { session: null, agent: null };
const { signal } = new AbortController();

async function folderWith(files: Record<string, string>): Promise<string> {
  const root = await tempDir();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

function pluginCommand(fields: Partial<SlashCommand>): SlashCommand {
  const run = async (args: string) => `${fields.plugin} got ${args}`;
  return { name: "x", plugin: "p", order: 0, description: "d", argumentHint: null, file: null, run, ...fields };
}

async function build(options: {
  project?: Record<string, string>;
  user?: Record<string, string>;
  plugins?: SlashCommand[];
  untrusted?: string[];
}) {
  const project = await folderWith(options.project ?? {});
  const user = await folderWith(options.user ?? {});
  const table = new CommandTable();
  for (const command of options.plugins ?? []) table.add(command);
  const folders: CommandFolder[] = [
    { source: "project", root: project, path: ".aegis/commands" },
    { source: "project", root: project, path: ".claude/commands" },
    { source: "user", root: user, path: ".aegis/commands" },
  ];
  const refusal = async ({ path }: { path: string }) => (options.untrusted?.includes(path) ? "nobody agreed" : null);
  return { project, table, commands: new Commands({ table, folders, refusal }) };
}

describe("what was typed", () => {
  it.each([
    ["/fix a  b", { name: "fix", arguments: "a  b" }],
    ["  /Git:Sync\nline", { name: "git:sync", arguments: "line" }],
    ["/etc/hosts is wrong", null],
    ["//fix", null],
    ["fix /this", null],
    ["/", null],
  ])("%j", (text, expected) => expect(typedCommand(text)).toEqual(expected));
});

describe("arguments", () => {
  it.each([
    ["fix $ARGUMENTS now", "a b", "fix a b now"],
    ["$1 before $2$9", 'one "two words"', "one before two words"],
    ["it costs $100 and \\$1", "x", "it costs $100 and $1\n\nARGUMENTS: x"],
    ["no places", "x y", "no places\n\nARGUMENTS: x y"],
    ["no places", "", "no places"],
    ["$ARGUMENTS and $1", "$1 $&", "$1 $& and $1"],
  ])("%j with %j", (body, given, expected) => expect(fillArguments(body, given)).toBe(expected));
});

describe("pages", () => {
  const parse = (text: string) => parseCommandPage(new TextEncoder().encode(text), "x.md");

  it("have a description and a hint, or take them from the text", () => {
    expect(parse("---\ndescription: Fixes it\nargument-hint: [file] [line]\n---\nFix $1.\n").page).toEqual({
      description: "Fixes it",
      argumentHint: "[file] [line]",
      body: "Fix $1.",
    });
    expect(parse("# Fix it\n\nNow.").page).toMatchObject({ description: "Fix it", argumentHint: null });
  });

  it("say where fields are that mean nothing here or anywhere", () => {
    const { page, diagnostics } = parse("---\nallowed-tools: Bash\ndescripton: x\n---\nRun !`git diff`.\n");
    expect(page?.body).toBe("Run !`git diff`.");
    expect(diagnostics).toMatchObject([
      { level: "info", line: 2, message: expect.stringContaining("allowed-tools") },
      { level: "warning", line: 3, message: expect.stringContaining('"description"') },
      { level: "info", message: expect.stringContaining("is not run here") },
    ]);
  });

  it("are no commands without a text", () => {
    expect(parse("---\nmodel: x\n---\n \n")).toMatchObject({
      page: null,
      diagnostics: [{ level: "info" }, { level: "error" }],
    });
  });

  it("say their description when they have no other text", () => {
    expect(parse("---\ndescription: Tidy up\n---\n \n")).toMatchObject({
      page: { body: "Tidy up" },
      diagnostics: [{ level: "warning" }],
    });
  });

  it.each([
    ["a value with a colon", "---\ndescription: Use it so: always\n---\nGo.\n", "Use it so: always"],
    ["text over several lines", "---\ndescription: One:\ntwo\nmodel: x\n---\nGo.\n", "One: two"],
    ["a tab", "---\ndescription:\tOne\n---\nGo.\n", "One"],
    ["no end of the header", "---\ndescription: One\n\nGo.\n", "---"],
  ])("are read in spite of %s", (_, text, description) => {
    expect(parse(text).page?.description).toBe(description);
  });
});

describe("files", () => {
  it("are named by their folders, and stay inside", async () => {
    const root = await folderWith({
      "c/fix.md": "1",
      "c/Git/sync.md": "2",
      "c/_draft.md": "3",
      "c/README.md": "About these.",
      "c/what is it.md": "4",
      "c/notes.txt": "5",
      "c/long.md": "x".repeat(300_000),
      "secret.md": "6",
      "outside/x.md": "7",
    });
    await symlink("/etc/hostname", join(root, "c", "out.md"));
    await symlink("nowhere", join(root, "c", "gone.md"));
    const { files, diagnostics } = await findCommandFiles(root, "c");
    expect(files.map(({ name, path }) => [name, path])).toEqual([
      ["git:sync", "c/Git/sync.md"],
      ["fix", "c/fix.md"],
      ["what-is-it", "c/what is it.md"],
    ]);
    expect(diagnostics.map(({ file }) => file)).toEqual([
      ...["c/_draft.md", "c/README.md", "c/gone.md", "c/long.md", "c/out.md", "c/what is it.md"],
    ]);
    expect(await findCommandFiles(root, "../elsewhere")).toMatchObject({
      files: [],
      diagnostics: [{ message: "leads out of its folder; it is not read" }],
    });
    expect(await findCommandFiles(root, "nothing/there")).toEqual({ files: [], diagnostics: [] });
    expect((await findCommandFiles(root, "secret.md")).files).toMatchObject([{ name: "secret" }]);
  });
});

it("reads so many pages and says how many there are", async () => {
  const root = await folderWith(Object.fromEntries(Array.from({ length: 502 }, (_, n) => [`c/p${n}.md`, "x"])));
  const { files, diagnostics } = await findCommandFiles(root, "c", 500);
  expect(files).toHaveLength(500);
  expect(diagnostics).toMatchObject([{ message: expect.stringContaining("found 502") }]);
});

describe("commands", () => {
  it("belong to the chat, the project, the user, then plugins in their order", async () => {
    const { commands } = await build({
      project: {
        ".aegis/commands/a.md": "project a",
        ".claude/commands/a.md": "claude a",
        ".aegis/commands/help.md": "h",
      },
      user: { ".aegis/commands/a.md": "user a", ".aegis/commands/b.md": "user b" },
      plugins: [
        pluginCommand({ name: "b", plugin: "late", order: 2 }),
        pluginCommand({ name: "c", plugin: "late", order: 2 }),
        pluginCommand({ name: "c", plugin: "early", order: 1 }),
      ],
    });
    const { commands: all } = await commands.list();
    expect(all.map(({ name, source, plugin, status }) => [name, plugin ?? source, status])).toEqual([
      ["a", "project", "ready"],
      ["help", "project", "shadowed"],
      ["a", "project", "shadowed"],
      ["a", "user", "shadowed"],
      ["b", "user", "ready"],
      ["c", "early", "ready"],
      ["b", "late", "shadowed"],
      ["c", "late", "shadowed"],
    ]);
    expect(all[1]?.reason).toBe("the chat itself has a /help");
    expect(all.at(-1)?.reason).toBe('the plugin "early" has a /c; this one is /late:c');
    const run = (name: string) => commands.run(name, "x", nobody, signal);
    expect(await run("A")).toEqual({ command: "a", text: null, prompt: "project a\n\nARGUMENTS: x" });
    expect(await run("c")).toMatchObject({ text: "early got x" });
    expect(await run("late:c")).toMatchObject({ text: "late got x" });
    await expect(run("help")).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("the chat"),
    });
    await expect(run("d")).rejects.toMatchObject({ code: "not_found" });
  });

  it("of an untrusted project neither run nor hide others", async () => {
    const { commands } = await build({
      project: { ".aegis/commands/a.md": "project a", ".aegis/commands/only.md": "x" },
      user: { ".aegis/commands/a.md": "user a" },
      untrusted: [".aegis/commands/a.md", ".aegis/commands/only.md"],
    });
    expect(await commands.run("a", "", nobody, signal)).toMatchObject({ prompt: "user a" });
    await expect(commands.run("only", "", nobody, signal)).rejects.toMatchObject({ code: "forbidden" });
    expect((await commands.list()).commands.map(({ status }) => status)).toEqual(["untrusted", "untrusted", "ready"]);
  });

  it("are read anew each time", async () => {
    const { commands, project } = await build({ project: { ".aegis/commands/a.md": "one" } });
    expect(await commands.run("a", "", nobody, signal)).toMatchObject({ prompt: "one" });
    await writeFile(join(project, ".aegis/commands/a.md"), "two");
    expect(await commands.run("a", "", nobody, signal)).toMatchObject({ prompt: "two" });
  });

  it.each([
    ["text", { text: "text", prompt: null }],
    [null, { text: null, prompt: null }],
    [{ prompt: "say it" }, { text: null, prompt: "say it" }],
    [
      { prompt: "say it", text: "saying" },
      { text: "saying", prompt: "say it" },
    ],
    [{ text: "shown" }, { text: "shown", prompt: null }],
    [{ other: 1 }, { text: '{\n  "other": 1\n}', prompt: null }],
    [[1], { text: "[\n  1\n]", prompt: null }],
  ])("answer with %j", async (given, expected) => {
    const { commands } = await build({ plugins: [pluginCommand({ run: async () => given })] });
    expect(await commands.run("x", "", nobody, signal)).toEqual({ command: "x", ...expected });
  });

  it("are there once for each plugin", () => {
    const table = new CommandTable();
    const undo = table.add(pluginCommand({}));
    expect(() => table.add(pluginCommand({}))).toThrow("twice");
    undo();
    table.add(pluginCommand({}));
    expect(table.list()).toHaveLength(1);
  });
});
