import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

type Listed = { commands: { name: string; status: string; source: string }[]; diagnostics: { message: string }[] };

const plugin = `import { command } from "aegis";
export const where = command(
  { name: "where", description: "Says who asks", argumentHint: "[word]" },
  (args, { session, agent }) => \`\${args} from \${session === null ? "nobody" : agent}\`,
);
export const tally = command({ name: "tally", description: "Counts" }, () => ({ prompt: "count todos", text: "counting" }));
export const broken = command({ name: "broken", description: "Fails" }, () => { throw new Error("no such luck"); });
export const quiet = command({ name: "quiet", description: "Says nothing" }, () => null);
`;

const project = {
  ".aegis.yaml": offlineConfig,
  ".aegis/plugins/tools/tools.ts": plugin,
  ".aegis/plugins/tools/commands/page.md": "count todos",
  ".aegis/commands/left.md": "---\ndescription: What is left\nallowed-tools: Bash\n---\ncount todos",
  ".claude/commands/say/it.md": "$1 files",
  "a.md": "TODO: write\n",
};

it("run in a chat: pages are said to the agent, answers of plugins are shown", async () => {
  const { pipe } = await aegisProject(project);
  const input = "/left\n/say:it list\n/where here\n/tally\n/broken\n/quiet\n/page\n/lefd\n/help\n";
  const { code, stdout, stderr } = await pipe(input, "chat");
  expect(code).toBe(0);
  expect(stdout.match(/1 todo in 1 file/g)).toHaveLength(3);
  expect(stdout).toContain("a.md");
  expect(stdout).toContain("here from dev\n");
  expect(stdout).toContain("counting\n");
  expect(stderr).toContain("no such luck");
  expect(stderr).toContain("/quiet is done");
  expect(stderr).toContain('there is no /lefd (did you mean "left"?)');
  expect(stderr).toMatch(/\/left +What is left \(project\)/);
  expect(stderr).toMatch(/\/where \[word\] +Says who asks \(plugin tools\)/);
});

it("run with run and send, and are completed", { tags: "slow" }, async () => {
  const { aegis, json } = await aegisProject(project);
  expect((await aegis("run", "/left")).stdout).toContain("1 todo in 1 file");
  expect(await aegis("run", "/where now")).toMatchObject({ code: 0, stdout: "now from nobody\n" });
  expect(await json("run", "/where now")).toEqual({ command: "where", text: "now from nobody", prompt: null });
  expect((await json<{ sessions: unknown[] }>("ps")).sessions).toEqual([]);
  await aegis("spawn", "helper", "--handle", "calm-galois");
  expect((await aegis("send", "calm-galois", "/where I am")).stdout).toBe("I am from helper\n");
  expect((await aegis("send", "calm-galois", "/left", "--wait")).stdout).toContain("1 todo in 1 file");
  const failed = await aegis("run", "/broken");
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("no such luck");
  const chatOnly = await aegis("run", "/install x");
  expect(chatOnly).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("aegis skill install <skill>"),
  });
  expect((await aegis("run", "/tmp/x is a path, list files")).stdout).toContain("a.md");
  expect((await aegis("__complete", "run", "/l")).stdout).toContain("/left\tWhat is left");
  const { commands, diagnostics } = await json<Listed>("command", "list");
  expect(commands.map(({ name, source }) => `${source} ${name}`)).toEqual([
    ...[
      "project left",
      "project say:it",
      "plugin page",
      "plugin where",
      "plugin tally",
      "plugin broken",
      "plugin quiet",
    ],
  ]);
  expect(diagnostics).toMatchObject([{ message: expect.stringContaining("allowed-tools") }]);
});

it("of an untrusted folder do not run, and say how to agree", { tags: "slow" }, async () => {
  const { aegis, root, env } = await aegisProject(project, { trusted: false });
  await mkdir(join(env.HOME ?? "", ".aegis", "commands"), { recursive: true });
  await writeFile(join(env.HOME ?? "", ".aegis", "commands", "mine.md"), "count todos");
  const refused = await aegis("run", "/left");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("aegis trust");
  expect((await aegis("run", "/where x", "--agent", "helper")).stdout).not.toContain("from");
  expect((await aegis("run", "/mine")).stdout).toContain("1 todo in 1 file");
  expect((await aegis("trust", "--list")).stdout).toContain("sends its text to an agent as /left");
  await aegis("trust", "--yes");
  expect((await aegis("run", "/left")).stdout).toContain("1 todo in 1 file");
  await writeFile(join(root, ".aegis/commands/left.md"), "list files");
  expect((await aegis("run", "/left")).stderr).toContain("changed since you trusted it");
});

it("of a plugin follow its changes", { tags: "slow" }, async () => {
  const { aegis, root, json } = await aegisProject(project);
  expect((await aegis("run", "/where now")).stdout).toContain("now from nobody");
  await writeFile(join(root, ".aegis/plugins/tools/tools.ts"), plugin.replace("args} from", "args} out of"));
  await waitUntil(
    "the command answers as it is written now",
    async () => (await json<{ text: string }>("run", "/where now")).text === "now out of nobody",
  );
});

it("of a Claude Code plugin are there, also when they are called by its name", async () => {
  const { aegis, json } = await aegisProject({
    ".aegis.yaml": offlineConfig,
    ".aegis/plugins/theirs/.claude-plugin/plugin.json": '{ "name": "theirs" }',
    ".aegis/plugins/theirs/commands/list-it.md": "---\ndescription: Lists\n---\nlist files $ARGUMENTS",
    ".aegis/plugins/theirs/commands/help.md": "list files",
    "a.md": "",
  });
  const { commands } = await json<Listed>("command", "list");
  expect(commands.map(({ name, status }) => [name, status])).toEqual([
    ["help", "shadowed"],
    ["list-it", "ready"],
  ]);
  expect((await aegis("run", "/list-it")).stdout).toContain("a.md");
  expect((await aegis("run", "/theirs:help")).stdout).toContain("a.md");
});
