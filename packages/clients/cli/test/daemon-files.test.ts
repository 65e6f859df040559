/** Files of daemons that are gone or of another version, folders below a project, and the doctor. */
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { readDaemonFile, writeDaemonFile } from "@aegis/lib/daemon-file.ts";
import { openUserKey } from "@aegis/lib/user-key.ts";
import { aegisProject, cliPath, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { testsUsePostgres } from "@aegis/test/helpers/cluster.ts";
import { isRunning } from "@aegis/test/helpers/pids.ts";
import { takePort } from "@aegis/test/helpers/take-port.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

it("names both versions when the daemon is another one", async () => {
  const project = await aegisProject();
  await project.aegis("up");
  const file = await readDaemonFile(project.root);
  if (file === null) throw new Error("the daemon is not announced");
  const older = { ...file, version: "0.0.1" };
  await writeDaemonFile(project.root, older, await openUserKey(project.env.HOME ?? ""));
  const { stderr, code } = await project.aegis("status");
  expect(code).toBe(0);
  expect(stderr).toContain("version 0.0.1");
  expect(stderr).toContain("aegis down && aegis up");
});

it("does not trust a file whose process is gone or another one", { tags: "slow" }, async () => {
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

it.skipIf(testsUsePostgres)(
  "tells that a crash was followed by the loss of the newest commits",
  { tags: "slow" },
  async () => {
    const project = await aegisProject();
    await project.aegis("run", "hello");
    await project.aegis("down");
    const { pid } = await project.json<{ pid: number }>("up");
    await project.aegis("run", "hello again");
    process.kill(pid, "SIGKILL");
    await waitUntil("the daemon is gone", () => !isRunning(pid));
    const state = join(project.root, ".aegis/state");
    // A crash alone loses nothing.
    const again = await project.aegis("up");
    expect(again.stdout).not.toContain("lacks its newest events");
    await project.aegis("run", "and again");
    const { pid: next } = await project.json<{ pid: number }>("status");
    process.kill(next, "SIGKILL");
    await waitUntil("it is gone too", () => !isRunning(next));
    await rm(join(state, "aegis.db-wal"));
    const words = "The database of this project lacks its newest events";
    expect((await project.aegis("up")).stdout).toContain(words);
    expect((await project.aegis("status")).stdout).toContain(words);
    const doctor = await project.aegis("doctor");
    expect(doctor.stdout).toContain(words);
    expect(doctor.code).not.toBe(0);
    await project.aegis("down");
    await project.aegis("store", "salvage", "--yes");
    expect((await project.aegis("doctor")).stdout).toContain("the database is intact");
  },
);

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
  expect(levels(await project.json<Report>("doctor"))).toMatchObject({
    state: "warn",
    daemon: "warn",
    // The server of the tests runs with fsync off, of which the doctor warns.
    store: testsUsePostgres ? "warn" : "ok",
  });
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
  await project.aegis("spawn", "helper", "--handle", "brave-planck");
  const script = [
    `aegis() { "${process.execPath}" "${cliPath}" "$@"; }`,
    'eval "$(aegis completion bash)"',
    "COMP_WORDS=(aegis send bra); COMP_CWORD=2; _aegis",
    "echo $COMPREPLY",
  ].join("\n");
  const { stdout } = await promisify(execFile)("/bin/bash", ["-c", script], { cwd: project.root, env: project.env });
  expect(stdout).toBe("brave-planck\n");
  const elsewhere = await aegisProject({});
  expect(await elsewhere.aegis("__complete", "send", "")).toEqual({ code: 0, stdout: "", stderr: "" });
});
