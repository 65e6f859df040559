/**
 * Links and pipes that cannot be read, in every folder from which Aegis takes content. An agent or a repository can put
 * them there. Each is reported or ignored; none stops a message, a command or the start of the daemon.
 */
import { execFileSync } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";

const tooLong = "x".repeat(3_000);

/** Folders of the project and of the user's home. */
const folders = [
  ...["skills", ".agents/skills", ".aegis/skills", ".claude/skills"],
  ...[".aegis/commands", ".claude/commands", ".claude/agents", ".aegis/plugins"],
];

async function fillWithLinks(folder: string): Promise<void> {
  await mkdir(join(folder, "sub"), { recursive: true });
  const links: Record<string, string> = { one: "two", two: "one", long: tooLong };
  for (const end of ["", ".md", ".ts", ".json"]) {
    links[`loop${end}`] = `loop${end}`;
    links[`_loop${end}`] = `_loop${end}`;
    links[`long${end}`] = tooLong;
  }
  for (const name of ["SKILL.md", "plugin.toml", "x", "x.ts"]) links[`sub/${name}`] = name;
  for (const [name, target] of Object.entries(links)) await symlink(target, join(folder, name));
  execFileSync("mkfifo", [join(folder, "pipe.md"), join(folder, "sub", "pipe.ts")]);
}

async function linkToItself(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await symlink(basename(folder), folder);
}

async function expectWorks({ aegis }: AegisProject): Promise<void> {
  expect(await aegis("run", "hello")).toMatchObject({ code: 0, stdout: expect.stringContaining("offline agent") });
  const commands = [
    ["skill", "list"],
    ["skill", "check"],
    ["command", "list"],
    ["agent", "list"],
    ["plugin", "list"],
    ["trust", "--list"],
    ["audit"],
    ["doctor"],
  ];
  for (const command of commands) {
    const { stdout, stderr } = await aegis(...command);
    expect({ command, stderr }).toEqual({ command, stderr: expect.not.stringMatching(/internal error|^\s+at /m) });
    expect({ command, stdout }).toEqual({ command, stdout: expect.not.stringMatching(/^\s+at /m) });
  }
}

it("works where the folders of the project hold them, and those of the home lead to themselves", {
  tags: "slow",
}, async () => {
  const project = await aegisProject();
  for (const folder of folders) await fillWithLinks(join(project.root, folder));
  await fillWithLinks(join(project.root, ".codex"));
  execFileSync("mkfifo", [join(project.root, ".mcp.json"), join(project.root, ".aegis", "plugins", "_pipe.ts")]);
  for (const folder of folders) await linkToItself(join(project.env.HOME ?? "", folder));
  await expectWorks(project);
  const { stdout } = await project.aegis("skill", "check");
  for (const path of ["skills/loop", ".agents/skills/one", ".aegis/skills/long", ".claude/skills/loop"])
    expect(stdout).toMatch(new RegExp(`(^|/)${path.replaceAll(".", "\\.")}: warning: cannot be read: E`, "m"));
});

it("works where the folders of the project lead to themselves, and those of the home hold them", {
  tags: "slow",
}, async () => {
  const project = await aegisProject();
  for (const folder of [...folders, ".codex", ".mcp.json"]) await linkToItself(join(project.root, folder));
  for (const folder of folders) await fillWithLinks(join(project.env.HOME ?? "", folder));
  await expectWorks(project);
  const plugins = (await project.aegis("plugin", "list")).stdout;
  expect(plugins).toMatch(/^plugins .*failed +cannot be read: ELOOP/m);
});

it.each(["agents", "queues", "schedules", "groups"])("names .aegis/%s that leads to itself", async (section) => {
  const project = await aegisProject();
  await linkToItself(join(project.root, ".aegis", section));
  const { code, stderr } = await project.aegis("config", "show");
  expect(code).not.toBe(0);
  expect(stderr).toContain(`.aegis/${section}`);
  expect(stderr).toContain("cannot be read: ELOOP");
});
