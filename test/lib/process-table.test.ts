import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { psTable, systemProcessTable } from "../../src/lib/process/table.ts";

test.each([
  ["the system's table", systemProcessTable()],
  ["ps", psTable()],
])("%s knows a process, its parent, its group and its start", async (_, table) => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e3)"], { detached: true, stdio: "ignore" });
  const pid = Number(child.pid);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const info = table.get(pid);
  expect(info).toMatchObject({ pid, parent: process.pid, group: pid, zombie: false });
  expect(info?.start).toBe(table.list().find((other) => other.pid === pid)?.start);
  expect(info?.start).not.toBe(table.get(process.ppid)?.start);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(table.get(pid)).toBeNull();
});
