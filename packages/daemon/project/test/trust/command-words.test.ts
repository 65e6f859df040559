/** Each spelling of a command either names the file that it runs, or is known to be uncertain. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { commandWords } from "../../src/trust/command-words.ts";
import { Contents } from "../../src/trust/contents.ts";
import { NamedFiles } from "../../src/trust/named-files.ts";

const files = [
  "run4.sh",
  "deep/down/run4.sh",
  "agents/one.py",
  "tool/__main__.py",
  "lib/agent.js",
  "package.json",
  "Makefile",
  "src/app.ts",
  "notes.md",
];

async function folder(): Promise<string> {
  const root = await tempDir();
  for (const path of [...files, "sub/x", "deep/y"]) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `${path}\n`);
  }
  await chmod(join(root, "run4.sh"), 0o755);
  return root;
}

const bash = (line: string) => ["bash", "-c", line];

/** What has to be covered by the consent, whatever way it is found. */
const runs: [string, string[], string][] = [
  ["plain", ["./run4.sh"], "run4.sh"],
  ["as an argument", ["bash", "run4.sh"], "run4.sh"],
  ["a line", bash("./run4.sh --fast"), "run4.sh"],
  ["a line with options", ["bash", "-euo", "pipefail", "-c", "./run4.sh"], "run4.sh"],
  ["exec", bash("exec ./run4.sh"), "run4.sh"],
  ["cd", bash("cd sub && ../run4.sh"), "run4.sh"],
  ["cd with a quoted folder", bash(`cd "sub"; '../run4.sh'`), "run4.sh"],
  ["cd in steps", bash("cd deep && cd down && ./run4.sh"), "deep/down/run4.sh"],
  ["cd up and back", bash("cd .. && cd - && ./run4.sh"), "run4.sh"],
  ["pushd", bash("pushd sub; ../run4.sh"), "run4.sh"],
  ["a subshell", bash("(cd sub; ../run4.sh)"), "run4.sh"],
  ["env -C", ["env", "-C", "sub", "../run4.sh"], "run4.sh"],
  ["env --chdir", ["env", "--chdir=sub", "../run4.sh"], "run4.sh"],
  ["env -C, glued", ["env", "-Csub", "../run4.sh"], "run4.sh"],
  ["env -S", ["env", "-S", "bash run4.sh"], "run4.sh"],
  ["a nested shell", bash(`sh -c 'cd sub && sh -c "../run4.sh"'`), "run4.sh"],
  ["a shell in a starter", ["timeout", "5", "bash", "-c", "cd sub && ../run4.sh"], "run4.sh"],
  ["an assignment before it", bash("A=1 bash -c 'cd sub; ../run4.sh'"), "run4.sh"],
  ["a quoted part", bash("./ru'n4'.sh"), "run4.sh"],
  ["a variable", bash("R=run4; ./$R.sh"), "run4.sh"],
  ["a variable in quotes", bash(`"$PWD/run4.sh"`), "run4.sh"],
  ["a glob", bash("./run*.sh"), "run4.sh"],
  ["braces", bash("./{run4,x}.sh"), "run4.sh"],
  ["a substitution", bash("$(echo ./run4.sh)"), "run4.sh"],
  ["backticks", bash("`echo ./run4.sh`"), "run4.sh"],
  ["an escape", bash("./ru\\n4.sh"), "run4.sh"],
  ["eval", bash("eval './run''4.sh'"), "run4.sh"],
  ["a pipe into a shell", bash("printf './run%s.sh' 4 | sh"), "run4.sh"],
  ["xargs", bash("echo ./run4.sh | xargs sh"), "run4.sh"],
  ["find", bash("find . -name 'run4*' -exec sh {} +"), "run4.sh"],
  ["a condition", bash("if true; then cd sub; ../run4.sh; fi"), "run4.sh"],
  ["a file as input", bash("bash < run4.sh"), "run4.sh"],
  ["source", bash("cd sub; . ../run4.sh"), "run4.sh"],
  ["npm run", ["npm", "run", "agent"], "package.json"],
  ["npm run elsewhere", ["npm", "--prefix", "sub", "run", "agent"], "src/app.ts"],
  ["make", ["make", "agent"], "Makefile"],
  ["make in a line", bash("make -s agent"), "src/app.ts"],
  ["python -m", ["python3", "-m", "agents.one"], "agents/one.py"],
  ["python -m with a package", ["python3", "-m", "tool"], "tool/__main__.py"],
  ["a folder for python", ["python3", "tool"], "tool/__main__.py"],
  ["node without the ending", ["node", "lib/agent"], "lib/agent.js"],
  ["code of the command line", ["node", "-e", "import('./lib/' + 'agent.js')"], "lib/agent.js"],
  ["node with an import", ["node", "--import", "./lib/agent.js", "x"], "lib/agent.js"],
  ["uv in a folder", ["uv", "--directory", "agents", "run", "one.py"], "agents/one.py"],
];

describe("a change of the file behind a command changes the consent", () => {
  it.each(runs)("%s", async (_, command, file) => {
    const root = await folder();
    const behind = async () => {
      const named = new NamedFiles({ root, worktree: null }, new Contents());
      return { behind: await named.behind(command), parts: await named.parts() };
    };
    const before = await behind();
    await writeFile(join(root, file), "changed\n");
    const after = await behind();
    expect(after.behind).not.toEqual(before.behind);
    // The refusal can name it.
    expect(Object.keys(after.parts)).toContain(file);
  });
});

/** Aegis must not ask again about these after each edit of the code. */
const certain = [
  ["claude-code-acp"],
  ["npx", "-y", "@zed-industries/claude-code-acp"],
  ["npx", "-y", "@modelcontextprotocol/server-filesystem", ".", "src"],
  ["uvx", "mcp-server-git", "--repository", "."],
  ["node", "lib/agent.js", "-e", "prod"],
  ["docker", "run", "-i", "--rm", "mcp/x"],
  ["bash", "-lc", "exec claude-code-acp --verbose"],
  bash("cd sub && ../run4.sh # don't ask"),
];

it.each(certain)("is certain about %s %s %s", async (...command) => {
  const root = await folder();
  const behind = () => new NamedFiles({ root, worktree: null }, new Contents()).behind(command);
  const before = await behind();
  expect(before.note).toBeNull();
  await writeFile(join(root, "src/app.ts"), "edited\n");
  expect(await behind()).toEqual(before);
});

it("says why it is not certain, and that all code counts", async () => {
  const root = await folder();
  const { note } = await new NamedFiles({ root, worktree: null }, new Contents()).behind(bash("./$R.sh"));
  expect(note).toBe(
    "which files it runs is not certain (it contains a variable or a substitution), so every code file of the folder counts (8)",
  );
  expect(commandWords(["make", "x"]).unsure).toBe("make decides what it runs");
});

it("does not count text and data where all code counts", async () => {
  const root = await folder();
  const behind = () => new NamedFiles({ root, worktree: null }, new Contents()).behind(["make", "agent"]);
  const before = await behind();
  await writeFile(join(root, "notes.md"), "edited\n");
  await writeFile(join(root, "app.log"), "line\n");
  expect(await behind()).toEqual(before);
});
