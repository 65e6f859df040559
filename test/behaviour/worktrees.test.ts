/** Sessions in git worktrees of their own, by the built program. */
import { existsSync } from "node:fs";
import { mkdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionView } from "@aegis/contract/session.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { nodeCell } from "../helpers/cluster.ts";
import { initGit, writingAgent } from "../helpers/git-project.ts";
import { type Daemon, testProject } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const config = (more: string) =>
  `default_agent: dev\nagents:\n  dev: { harness: scripted, permission: write, playbook: playbook.yaml }\n${more}`;

it("works in a worktree with copied and linked files, a branch and ports, and leaves the project alone", async () => {
  const { aegis, json, root } = await aegisProject({
    ...writingAgent,
    ".aegis.yaml": config(
      [
        "worktrees:",
        "  copy: ['.env*', tracked.txt]",
        "  link: [node_modules]",
        "  setup: ['echo $AEGIS_PORT $AEGIS_PORT_COUNT > gates-ports', 'test -f .env']",
      ].join("\n"),
    ),
    ".gitignore": "gates/\n.aegis/\n.env\nnode_modules/\ngates-ports\n",
    "tracked.txt": "committed\n",
  });
  const git = await initGit(root);
  await writeFile(join(root, ".env"), "KEY=1\n");
  await mkdir(join(root, "node_modules"));
  await writeFile(join(root, "node_modules/x.js"), "");
  await writeFile(join(root, "tracked.txt"), "not committed\n");
  const head = await git("rev-parse", "HEAD");
  const spawned = await aegis("spawn", "dev", "--worktree", "--handle", "ada");
  expect(spawned.code, spawned.stderr).toBe(0);
  expect((await aegis("send", "ada", "write notes.txt new", "--wait")).stdout).toContain("wrote notes.txt");
  const { sessions } = await json<{ sessions: SessionView[] }>("ps");
  const worktree = sessions[0]?.worktree;
  const dir = worktree?.dir ?? "";
  expect(worktree).toMatchObject({ state: "ready", branch: "aegis/ada", base: head, problem: null });
  expect(dir.startsWith(root)).toBe(false);
  expect(await readFile(join(dir, "notes.txt"), "utf8")).toBe("new\n");
  expect(existsSync(join(root, "notes.txt"))).toBe(false);
  expect(await git("status", "--porcelain")).toBe(" M tracked.txt");
  expect(await git("rev-parse", "HEAD")).toBe(head);
  // Only ignored files are copied: work in progress stays where it is.
  expect(await readFile(join(dir, "tracked.txt"), "utf8")).toBe("committed\n");
  expect((await stat(join(dir, ".env"))).mode & 0o777).toBe(0o600);
  expect(await readlink(join(dir, "node_modules"))).toBe(join(root, "node_modules"));
  expect(await readFile(join(dir, "gates-ports"), "utf8")).toBe(`${worktree?.port} 20\n`);
  expect((await aegis("changes", "ada", "--stat")).stdout).toContain("A  notes.txt  +1 -0");
  expect((await aegis("history", "ada")).stdout).toContain("works on aegis/ada without 1 uncommitted file");
  expect((await aegis("worktree", "list")).stdout).toMatch(
    new RegExp(`^ada${nodeCell} +ready +aegis/ada +\\d+ +/`, "m"),
  );
  // What is not committed is included on request.
  await aegis("spawn", "dev", "--worktree", "--base", "dirty", "--handle", "eve");
  await aegis("send", "eve", "hello", "--wait");
  const eve = (await json<{ sessions: SessionView[] }>("ps")).sessions.find(({ handle }) => handle === "eve");
  expect(await readFile(join(eve?.worktree?.dir ?? "", "tracked.txt"), "utf8")).toBe("not committed\n");
});

it("says what is wrong without git, without a commit and with an unknown base, and goes on", {
  tags: "slow",
}, async () => {
  const { aegis, root } = await aegisProject(writingAgent);
  const refused = await aegis("spawn", "dev", "--worktree");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("this folder is not in git");
  expect((await aegis("spawn", "dev", "--handle", "ada")).code).toBe(0);
  expect((await aegis("send", "ada", "hello", "--wait")).code).toBe(0);
  await initGit(root);
  expect((await aegis("spawn", "dev", "--worktree", "--base", "nowhere")).stderr).toContain(
    'no branch, tag or commit "nowhere"',
  );
  expect((await aegis("spawn", "dev", "--worktree", "--base=--upload-pack=x")).stderr).toContain("expected a branch");
  expect((await aegis("spawn", "dev", "--base", "main")).stderr).toContain("--base needs --worktree");
});

async function view(daemon: Daemon, session: string): Promise<SessionView> {
  return (await daemon.client.call("getSession", { path: { session } })).session;
}

async function idle(daemon: Daemon, session: string): Promise<SessionView> {
  await waitUntil(`${session} is idle`, async () => {
    const { events } = await daemon.client.call("history", { path: { session } });
    return events.some((event) => event.type === "turn.ended" && event.data.reason !== "lost");
  });
  return view(daemon, session);
}

it("creates many at once, by the agent's setting, with names and ports of their own", { tags: "slow" }, async () => {
  const project = await testProject({
    ...writingAgent,
    ".aegis.yaml": writingAgent[".aegis.yaml"].replace("permission: write", "permission: write, isolation: worktree"),
  });
  const git = await initGit(project.dir);
  await git("branch", "aegis/h0");
  const daemon = await project.start();
  const handles = Array.from({ length: 8 }, (_, index) => `h${index}`);
  await Promise.all(
    handles.map((handle) => daemon.client.call("createSession", { body: { handle, prompt: `write ${handle}.txt x` } })),
  );
  const views = await Promise.all(handles.map((handle) => idle(daemon, handle)));
  expect(views.map((one) => one.worktree?.state)).toEqual(handles.map(() => "ready"));
  expect(views[0]?.worktree?.branch).toBe("aegis/h0-2");
  for (const key of ["dir", "branch", "port"] as const)
    expect(new Set(views.map((one) => one.worktree?.[key])).size).toBe(handles.length);
  for (const { worktree, handle } of views)
    expect(await readFile(join(worktree?.dir ?? "", `${handle}.txt`), "utf8")).toBe("x\n");
  expect(await git("status", "--porcelain")).toBe("");
});

it("goes on with a creation that a kill interrupted, and resumes in the same folder", { tags: "slow" }, async () => {
  const project = await testProject({
    ...writingAgent,
    ".aegis.yaml": config("worktrees:\n  setup: ['echo ran >> gates-log; test -f $HOME/go || sleep 600']\n"),
    ".gitignore": "gates/\n.aegis/\ngates-log\n",
  });
  await initGit(project.dir);
  const first = await project.start();
  const body = { handle: "ada", prompt: "write a.txt x", isolation: "worktree" as const };
  await first.client.call("createSession", { body });
  let dir = "";
  await waitUntil("the setup runs", async () => {
    dir = (await view(first, "ada")).worktree?.dir ?? "";
    return dir !== "" && existsSync(join(dir, "gates-log"));
  });
  await first.kill();
  await writeFile(join(project.dir, "..", "home", "go"), "");
  const second = await project.start();
  const after = await idle(second, "ada");
  expect(after.worktree).toMatchObject({ state: "ready", dir });
  await waitUntil("the turn is repeated", () => existsSync(join(dir, "a.txt")));
  expect(await readFile(join(dir, "gates-log"), "utf8")).toBe("ran\nran\n");
});
