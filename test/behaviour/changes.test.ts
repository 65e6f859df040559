/** The changes of sessions in a git project, by the built command, the API and the plane. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Changes } from "@aegis/contract/changes.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { initGit, writingAgent } from "../helpers/git-project.ts";
import { type Daemon, testProject } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

it("shows what each turn changed, in text and JSON, and touches neither index nor HEAD", async () => {
  const project = await aegisProject({ ...writingAgent, "notes.txt": "old\n" });
  const { aegis, json, root } = project;
  const git = await initGit(root);
  const before = [
    await readFile(join(root, ".git/index")),
    await git("status", "--porcelain"),
    await git("rev-parse", "HEAD"),
  ];
  await aegis("spawn", "dev", "--handle", "ada");
  await aegis("send", "ada", "write notes.txt new", "--wait");
  // A person edits between the turns.
  await writeFile(join(root, "mine.txt"), "a person's\n");
  await aegis("send", "ada", "write docs/more.md text", "--wait");
  const all = await aegis("changes", "ada");
  expect(all).toMatchObject({ code: 0, stderr: "" });
  expect(all.stdout).toContain("A  docs/more.md  +1 -0");
  expect(all.stdout).toContain("M  notes.txt  +1 -1");
  expect(all.stdout).toMatch(/2 files, \+2 -1 in 2 turns, from commit [0-9a-f]{12}/);
  expect(all.stdout).toMatch(/^-old\n\+new$/m);
  expect(all.stdout).not.toContain("mine.txt");
  const stat = await aegis("changes", "ada", "--turn", "last", "--stat");
  expect(stat.stdout).toContain("docs/more.md");
  expect(stat.stdout).not.toMatch(/notes\.txt|^\+text/m);
  const { tree, changes } = await json<{ tree: Changes; changes: object[] }>("changes", "ada", "--turn", "1");
  expect(changes).toHaveLength(2);
  expect(tree).toMatchObject({
    git: true,
    folder: root,
    base: await git("rev-parse", "HEAD"),
    files: [{ path: "notes.txt", status: "modified", attribution: "sole", sessions: ["ada"], added: 1, deleted: 1 }],
  });
  const history = (await aegis("history", "ada")).stdout;
  expect(history).toContain("changed 1 file: +1 -1");
  expect((await aegis("changes", "ada", "--turn", "7")).stderr).toContain("expected last, a number from 1 to 2");
  expect((await aegis("changes", "ada", "--stat", "--patch")).code).toBe(2);
  const after = [
    await readFile(join(root, ".git/index")),
    await git("status", "--porcelain", "notes.txt"),
    await git("rev-parse", "HEAD"),
  ];
  expect(after[0]).toEqual(before[0]);
  expect(after[2]).toBe(before[2]);
  // A reviewer sees the same through the plane.
  await aegis("spawn", "dev", "--handle", "eve");
  const review = await aegis("send", "eve", "review ada", "--wait");
  expect(review.stdout).toContain("docs/more.md");
});

it("says that a folder is not in git, and goes on", { tags: "slow" }, async () => {
  const { aegis, json } = await aegisProject(writingAgent);
  await aegis("spawn", "dev", "--handle", "ada");
  expect((await aegis("send", "ada", "write notes.txt new", "--wait")).code).toBe(0);
  const shown = await aegis("changes", "ada");
  expect(shown.stdout).toContain("notes.txt  turn 1, write_report");
  expect(shown.stderr).toContain("not a git project");
  expect(await json("changes", "ada")).toMatchObject({ tree: { git: false, files: [] } });
});

async function spawned(daemon: Daemon, handle: string): Promise<void> {
  await daemon.client.call("createSession", { body: { handle } });
}

async function holding(daemon: Daemon, session: string, text: string, gate: string): Promise<void> {
  await daemon.client.call("sendMessage", { path: { session }, body: { text } });
  await waitUntil(`${session} holds ${gate}`, async () => {
    const { events } = await daemon.client.call("history", { path: { session } });
    return events.some((event) => event.type === "turn.text" && event.data.text === `holding ${gate}`);
  });
}

async function ended(daemon: Daemon, session: string): Promise<void> {
  await waitUntil(`the turn of ${session} ends`, async () => {
    const { events } = await daemon.client.call("history", { path: { session } });
    return events.some((event) => event.type === "turn.ended");
  });
}

it("attributes changes in a shared folder to the session that reported them, or to all that were working", {
  tags: "slow",
}, async () => {
  const project = await testProject(writingAgent);
  await initGit(project.dir);
  const daemon = await project.start();
  await spawned(daemon, "ada");
  await spawned(daemon, "bob");
  await holding(daemon, "ada", "write ada.txt 1 then hold a", "a");
  await holding(daemon, "bob", "write bob.txt 1 then hold b", "b");
  // Neither of them reports this one, as with a shell command.
  await project.write("shell.txt", "?\n");
  await project.open("a");
  await ended(daemon, "ada");
  await project.open("b");
  await ended(daemon, "bob");
  const of = async (session: string) => {
    const { changes } = await daemon.client.call("getChanges", { path: { session }, query: {} });
    return changes.files.map(({ path, attribution, sessions }) => [path, attribution, sessions.join()]);
  };
  expect(await of("ada")).toEqual([
    ["ada.txt", "sole", "ada"],
    ["shell.txt", "shared", "ada,bob"],
  ]);
  expect(await of("bob")).toEqual([
    ["bob.txt", "named", "bob"],
    ["shell.txt", "shared", "ada,bob"],
  ]);
  const { events } = await daemon.client.call("history", { path: { session: "ada" } });
  expect(events.find((event) => event.type === "changes.recorded")?.data).toMatchObject({ files: 2, shared: 1 });
  // The view of a session counts all of its turns; one file's patch can be requested alone.
  await project.open("c");
  await holding(daemon, "ada", "write ada.txt 2 then hold c", "c");
  await waitUntil("the second turn is recorded", async () => {
    const { session } = await daemon.client.call("getSession", { path: { session: "ada" } });
    return session.changes?.files === 2 && session.changes.added === 2 && session.state === "ready";
  });
  const one = async (file: string) =>
    (await daemon.client.call("getChanges", { path: { session: "ada" }, query: { file } })).changes.patch;
  expect(await one("ada.txt")).toMatch(/^\+2$/m);
  expect(await one("ada.txt")).not.toContain("shell.txt");
  await expect(one("ada.tx")).rejects.toMatchObject({ code: "not_found", hint: 'did you mean "ada.txt"?' });
});

it("shows a running turn, and after a kill ends its record with what is on disk", { tags: "slow" }, async () => {
  const project = await testProject(writingAgent);
  await initGit(project.dir);
  const first = await project.start();
  await spawned(first, "ada");
  await holding(first, "ada", "write ada.txt 1 then hold a", "a");
  const path = { session: "ada" };
  const live = await first.client.call("getChanges", { path, query: { patch: "true" } });
  expect(live.changes.files).toMatchObject([{ path: "ada.txt", status: "added" }]);
  expect(live.changes.patch).toContain("+1");
  await first.kill();
  await project.write("late.txt", "written before the restart\n");
  const second = await project.start();
  const { changes } = await second.client.call("getChanges", { path, query: { turn: "1" } });
  expect(changes.files.map((file) => file.path)).toEqual(["ada.txt", "late.txt"]);
  await project.open("a");
});
