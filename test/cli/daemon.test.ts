import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { aegisProject, cliPath, offlineConfig } from "../helpers/aegis.ts";
import { isRunning } from "../helpers/pids.ts";
import { waitUntil } from "../helpers/wait-until.ts";

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

it("shows why a daemon could not start", async () => {
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

it("shows the log of a daemon that is gone, and follows one that runs", async () => {
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

it("names both versions when the daemon is another one", async () => {
  const project = await aegisProject();
  await project.aegis("up");
  const path = join(project.root, ".aegis/state/daemon.json");
  const file = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify({ ...file, version: "0.0.1" }));
  const { stderr, code } = await project.aegis("status");
  expect(code).toBe(0);
  expect(stderr).toContain("version 0.0.1");
  expect(stderr).toContain("aegis down && aegis up");
});

it("does not trust a file whose process is gone or another one", async () => {
  const project = await aegisProject();
  const first = await project.json<{ pid: number }>("up");
  process.kill(first.pid, "SIGKILL");
  await waitUntil("the daemon is gone", () => !isRunning(first.pid));
  expect((await project.aegis("status")).stdout).toContain("did not stop cleanly");
  const path = join(project.root, ".aegis/state/daemon.json");
  const file = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify({ ...file, pid: process.pid }));
  expect((await project.aegis("status")).code).toBe(3);
  const second = await project.json<{ pid: number; started: boolean }>("up");
  expect(second.started).toBe(true);
  expect(second.pid).not.toBe(first.pid);
});

it("works from a folder below the project, and with -C", async () => {
  const project = await aegisProject();
  await mkdir(join(project.root, "src/deep"), { recursive: true });
  await project.aegis("up");
  expect(await project.json("-C", "src/deep", "status")).toMatchObject({ project: project.root });
});

it("lets the doctor find and repair what is wrong", async () => {
  const project = await aegisProject();
  const { pid } = await project.json<{ pid: number }>("up");
  type Report = { ok: boolean; checks: { check: string; level: string; repaired: boolean }[] };
  const running = await project.json<Report>("doctor");
  expect(running.ok).toBe(true);
  expect(running.checks.map(({ check }) => check)).toEqual(
    expect.arrayContaining([
      "node",
      "clock",
      "project",
      "state",
      "disk",
      "config",
      "daemon",
      "port",
      "store",
      "processes",
      "harness",
    ]),
  );
  process.kill(pid, "SIGKILL");
  await waitUntil("the daemon is gone", () => !isRunning(pid));
  const state = join(project.root, ".aegis/state");
  await chmod(state, 0o755);
  const levels = (report: Report) => Object.fromEntries(report.checks.map(({ check, level }) => [check, level]));
  expect(levels(await project.json<Report>("doctor"))).toMatchObject({ state: "warn", daemon: "warn", store: "ok" });
  const fixed = await project.json<Report>("doctor", "--fix");
  expect(fixed.checks.filter(({ repaired }) => repaired).map(({ check }) => check)).toEqual(["state", "daemon"]);
  expect((await stat(state)).mode & 0o777).toBe(0o700);
  await using taken = await takePort();
  await writeFile(join(project.root, ".aegis.yaml"), `${offlineConfig}server: { port: ${taken.port} }\n`);
  expect(levels(await project.json<Report>("doctor"))).toMatchObject({ config: "ok", port: "fail" });
  await writeFile(join(project.root, ".aegis.yaml"), `${offlineConfig}nonsense: 1\n`);
  const broken = await project.aegis("doctor");
  expect(broken.code).toBe(1);
  expect(broken.stdout).toContain("nonsense");
});

it("completes handles in a real shell, quickly and in silence", async () => {
  const project = await aegisProject();
  await project.aegis("spawn", "helper", "--handle", "brave-hopper");
  const script = [
    `aegis() { "${process.execPath}" "${cliPath}" "$@"; }`,
    'eval "$(aegis completion bash)"',
    "COMP_WORDS=(aegis send bra); COMP_CWORD=2; _aegis",
    "echo $COMPREPLY",
  ].join("\n");
  const { stdout } = await promisify(execFile)("/bin/bash", ["-c", script], { cwd: project.root, env: project.env });
  expect(stdout).toBe("brave-hopper\n");
  const elsewhere = await aegisProject({});
  expect(await elsewhere.aegis("__complete", "send", "")).toEqual({ code: 0, stdout: "", stderr: "" });
});

/** A port that another program listens at until this is disposed. */
async function takePort(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = promisify((done: (error?: Error) => void) => server.close(done));
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: close };
}
