import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { expect, it, onTestFinished } from "vitest";
import { findLeftBehind, requireNoneLeftBehind } from "./helpers/left-behind.ts";
import { isRunning } from "./helpers/pids.ts";
import { tempDir } from "./helpers/temp-dir.ts";
import { waitUntil } from "./helpers/wait-until.ts";

const isLinux = process.platform === "linux";

function sleeper(cwd: string, env: NodeJS.ProcessEnv): number {
  const child = spawn("sleep", ["1000"], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    detached: true,
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child.pid ?? 0;
}

it.runIf(isLinux)("a process is found by its folder, also a removed one, and by its environment", async () => {
  const [folder, other] = [await tempDir(), await tempDir()];
  const pids = [sleeper(folder, {}), sleeper("/", { HOME: `${folder}/home` })];
  const stranger = sleeper(other, {});
  await rm(folder, { recursive: true });
  // The first number is no process: these are children of this one.
  const found = findLeftBehind(folder, 0).map(({ pid }) => pid);
  expect(found.sort()).toEqual(pids.sort());
  expect(findLeftBehind(folder)).toEqual([]);
  expect(isRunning(stranger)).toBe(true);
});

it.runIf(isLinux)("a run that left a process fails, and the process is ended", async () => {
  const folder = await tempDir();
  // The shell ends at once, so that the program has no parent here.
  const shell = spawn("sh", ["-c", "sleep 1000 >/dev/null 2>&1 & echo $!"], { cwd: folder, detached: true });
  const pid = Number(String(await once(shell.stdout, "data")));
  await once(shell, "close");
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
  await expect(requireNoneLeftBehind(folder, () => Promise.resolve())).rejects.toThrow(`${pid} sleep in ${folder}`);
  await waitUntil("it is gone", () => !isRunning(pid));
});
