import { spawn } from "node:child_process";
import { once } from "node:events";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, onTestFinished, test } from "vitest";
import { psTable, systemProcessTable } from "../src/process/table.ts";

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

test.each([
  ["the system's table", systemProcessTable()],
  ["ps", psTable()],
])("%s finds processes by a variable of their environment", async (_, table) => {
  const start = (env: Record<string, string>) => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e3)"], { env, stdio: "ignore" });
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    return Number(child.pid);
  };
  const [marked, other, bare] = [
    start({ FIRST: "1", MARK: "a value with blanks", LAST: "2" }),
    start({ FIRST: "MARK=1", MARKED: "1" }),
    start({}),
  ];
  await waitUntil("all have taken on their program", async () =>
    (await table.survey()).some((one) => one.pid === bare),
  );
  const all = (await table.survey()).filter((info) => [marked, other, bare].includes(info.pid));
  expect(all.map(({ pid }) => pid).sort()).toEqual([marked, other, bare].sort());
  await waitUntil("the environment can be read", async () => (await table.variable("MARK", all)).size > 0);
  expect(await table.variable("MARK", all)).toEqual(new Map([[marked, "a value with blanks"]]));
  expect(await table.variable("MARK", [])).toEqual(new Map());
  expect(all.every((info) => info.began >= (table.get(process.pid)?.began ?? Number.POSITIVE_INFINITY))).toBe(true);
});
