import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { isRunning } from "@aegis/test/helpers/pids.ts";
import { takePort } from "@aegis/test/helpers/take-port.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

it("says what to do where nothing is set up, and where nothing runs", async () => {
  const empty = await aegisProject({});
  expect((await empty.aegis()).stdout).toContain("aegis init");
  expect(await empty.json()).toMatchObject({ running: false, configured: false });
  const status = await empty.aegis("status");
  expect(status.code).toBe(3);
  expect(status.stdout).toContain("aegis up");
  expect(await empty.daemonPid()).toBeNull();
});

it("brings a daemon up once, however many ask at the same time, and takes it down", async () => {
  const project = await aegisProject();
  const all = await Promise.all(Array.from({ length: 4 }, () => project.json<{ pid: number; started: boolean }>("up")));
  expect(new Set(all.map((one) => one.pid)).size).toBe(1);
  expect(all.filter((one) => one.started)).toHaveLength(1);
  const status = await project.json("status");
  expect(status).toMatchObject({
    running: true,
    pid: all[0]?.pid,
    project: project.root,
    default_agent: "dev",
    offline: true,
  });
  expect((await project.aegis("status")).stdout).toContain("(offline: no model answers)");
  expect((await stat(join(project.root, ".aegis/state/daemon.json"))).mode & 0o777).toBe(0o600);

  const down = await project.json<{ stopped: boolean; pid: number }>("down");
  expect(down).toMatchObject({ stopped: true, pid: all[0]?.pid });
  expect(isRunning(down.pid)).toBe(false);
  expect(await project.json("down")).toMatchObject({ stopped: false });
});

it("shows why a daemon could not start", { tags: "slow" }, async () => {
  const wrong = Array.from({ length: 20 }, (_, index) => `  dev${index}: { harnes: scripted }\n`);
  const project = await aegisProject({ ".aegis.yaml": `default_agent: dev0\nagents:\n${wrong.join("")}` });
  const { code, stderr } = await project.aegis("up");
  expect(code).toBe(2);
  expect(stderr).toContain("harness");
  for (const index of wrong.keys()) expect(stderr).toContain(`.aegis.yaml:${index + 3}:`);
  expect(await project.json("up")).toMatchObject({ error: { code: "invalid" } });
  expect((await project.aegis("serve")).code).toBe(2);
});

it("says which port is taken", async () => {
  await using taken = await takePort();
  const project = await aegisProject();
  const { code, stderr } = await project.aegis("up", "--port", String(taken.port));
  expect(code).toBe(3);
  expect(stderr).toContain(`port ${taken.port} of 127.0.0.1 is taken by another program`);
});

it("serves in the foreground with a log people can read, and refuses a second one", async () => {
  const project = await aegisProject();
  const serving = project.start("serve");
  await serving.shows("aegis is up");
  expect(serving.output.stdout).toMatch(/^\d\d:\d\d:\d\d info {2}/);
  const second = await project.aegis("serve");
  expect(second.code).toBe(1);
  expect(second.stderr).toContain("already");
  serving.child.kill("SIGTERM");
  expect((await serving.ended).code).toBe(0);
  expect(await project.daemonPid()).toBeNull();
});

it("works on and stops cleanly after the command that shows its log was killed", async () => {
  const project = await aegisProject();
  const serving = project.start("serve");
  await serving.shows("aegis is up");
  const pid = await project.daemonPid();
  serving.child.kill("SIGKILL");
  await once(serving.child, "exit");
  // The daemon writes both to its log, which has no reader any more.
  expect(await project.json("spawn", "helper")).toMatchObject({ session: { agent: "helper" } });
  expect(await project.json("down")).toMatchObject({ stopped: true, pid });
  expect((await serving.ended).stderr).toBe("");
});

it("shows the log of a daemon that is gone, and follows one that runs", { tags: "slow" }, async () => {
  const project = await aegisProject();
  expect((await project.aegis("logs")).code).toBe(3);
  await project.aegis("up");
  await project.aegis("down");
  const { stdout } = await project.aegis("logs", "-n", "1000");
  expect(stdout).toContain("aegis is up");
  const records = (await project.aegis("logs", "--json")).stdout.trim().split("\n");
  expect(records.map((line) => JSON.parse(line).msg)).toContain("aegis is up");
  const following = project.start("logs", "-f", "-n", "0");
  await project.aegis("up");
  await following.shows("aegis is up");
  following.child.kill("SIGINT");
  expect((await following.ended).code).toBe(0);
});

it("reports a daemon that runs and does not answer, and the command that ends it", { tags: "slow" }, async () => {
  const project = await aegisProject();
  const { pid } = await project.json<{ pid: number }>("up");
  process.kill(pid, "SIGSTOP");
  const waiting = project.start("ps");
  await waitUntil("the silence is reported", () => waiting.output.stderr.includes("has not answered"), 25_000);
  expect(waiting.output.stderr).toContain(`the daemon (pid ${pid}) has not answered for 15 s\n`);
  expect(waiting.output.stderr).toContain("aegis down --force");
  process.kill(pid, "SIGCONT");
  expect((await waiting.ended).code).toBe(0);
});
