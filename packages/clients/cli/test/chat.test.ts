import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { isRunning } from "@aegis/test/helpers/pids.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

type Sessions = { sessions: { handle: string; state: string; title: string }[] };

it("answers line by line through a pipe and ends after the last answer", async () => {
  const project = await aegisProject();
  await writeFile(join(project.root, "a.md"), "TODO: write\n");
  const { code, stdout, stderr } = await project.pipe(
    "count todos\n/title my chat\n/rename calm-galois\n/nonsense\n/sessions\nlist files",
    "chat",
  );
  expect(code).toBe(0);
  expect(stdout).toContain("1 todo in 1 file");
  expect(stdout.indexOf("1 todo in")).toBeLessThan(stdout.indexOf("a.md"));
  expect(stderr).toContain("there is no /nonsense");
  expect(stderr).toContain("my chat");
  const { sessions } = await project.json<Sessions>("ps");
  expect(sessions).toMatchObject([{ handle: "calm-galois", title: "my chat" }]);
});

it("goes on with a session, switches, and leaves nothing behind that was never used", async () => {
  const project = await aegisProject();
  await project.aegis("spawn", "helper", "--handle", "brave-planck", "-m", "hello");
  const { stdout, stderr } = await project.pipe("/switch brave-planck\nhello\n/quit\nnever sent\n", "chat");
  expect(stdout).toContain("I am brave-planck");
  expect(stderr).toContain("switched to brave-planck (offline)");
  await project.pipe("", "chat");
  const { sessions } = await project.json<Sessions>("ps");
  expect(sessions.map((session) => session.handle)).toContain("brave-planck");
  expect((await project.aegis("history", "brave-planck")).stdout).not.toContain("never sent");
});

it("interrupts the answer in progress", async () => {
  const project = await aegisProject();
  const chat = project.start("chat");
  chat.child.stdin.write("tell a slow story\n");
  await chat.shows("Once there");
  chat.child.stdin.end("/interrupt\n");
  const { code, stdout, stderr } = await chat.ended;
  expect(code).toBe(0);
  expect(stdout).not.toContain("The end.");
  expect(stderr).toContain("turn interrupted");
});

it("attaches without a terminal: says which agent and why, prints events, stops what it started", async () => {
  const project = await aegisProject();
  const attached = project.start("up", "--attach", "--json");
  await attached.shows('"aegis.up"');
  const pid = await project.daemonPid();
  if (pid === null) throw new Error("no daemon came up");
  await project.aegis("run", "hello");
  await attached.shows('"turn.ended"');
  attached.child.kill("SIGTERM");
  const { code, stdout, stderr } = await attached.ended;
  expect(code).toBe(0);
  for (const line of stdout.trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("type");
  expect(stderr).toContain("This command started the daemon, so it stops it");
  expect(isRunning(pid)).toBe(false);
});

it("attaches to a daemon that runs already and leaves it running", { tags: "slow" }, async () => {
  const project = await aegisProject();
  await project.aegis("up");
  const pid = await project.daemonPid();
  const attached = project.start("up", "--attach");
  await waitUntil("it has attached", () => attached.output.stderr.includes("Events follow"));
  await project.aegis("run", "hello");
  await attached.shows("turn completed");
  attached.child.kill("SIGINT");
  const { code, stderr } = await attached.ended;
  expect(code).toBe(0);
  expect(stderr).toContain("Already running");
  expect(stderr).toContain("because it is the default agent");
  expect(await project.daemonPid()).toBe(pid);
});
