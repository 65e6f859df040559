// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { agreed } from "@aegis/test/helpers/consent.ts";
import { fixture, isRunning } from "@aegis/test/helpers/pids.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../src/clock.ts";
import { lines } from "../src/jsonl.ts";
import { silentLogger } from "../src/log.ts";
import { systemProcessTable } from "../src/process/table.ts";
import { createProcesses } from "../src/process.ts";

test("a new daemon ends what a killed one left, also a process that left its group", async () => {
  const dir = await tempDir();
  const ledgerFile = join(dir, "children.jsonl");
  const pids = await killedDaemonsChildren(ledgerFile, dir, ["escape"]);
  expect(pids.map(isRunning)).toEqual([true, true]);

  const survivors = await processesOf(ledgerFile, dir).sweep();
  expect(survivors.map(({ pid }) => pid).sort()).toEqual(pids.toSorted());
  expect(survivors.every(({ killed }) => killed)).toBe(true);
  expect(pids.map(isRunning)).toEqual([false, false]);
  expect(await readFile(ledgerFile, "utf8")).toBe("");
});

test("the ledger alone is enough to find a group", async () => {
  const dir = await tempDir();
  const ledgerFile = join(dir, "children.jsonl");
  const pids = await killedDaemonsChildren(ledgerFile, dir, []);
  // Under another owner the mark in their environment says nothing.
  const survivors = await processesOf(ledgerFile, "another project").sweep();
  expect(survivors.map(({ pid }) => pid).sort()).toEqual(pids.toSorted());
  expect(survivors.some(({ command }) => command.includes("stubborn.mjs"))).toBe(true);
});

test("a process that only has the pid of a recorded one is spared", async () => {
  const bystander = startBystander();
  const dir = await tempDir();
  const ledgerFile = join(dir, "children.jsonl");
  const rows = [
    { pid: bystander, start: "another time", command: "agent" },
    { pid: bystander, start: null, command: "agent" },
    { pid: process.pid, start: systemProcessTable().get(process.pid)?.start, command: "ourselves" },
    { pid: 1, start: systemProcessTable().get(1)?.start, command: "the first process" },
    { pid: -1, start: "everyone", command: "everyone" },
  ];
  const torn = '{"pid":';
  await writeFile(ledgerFile, [...rows.map((row) => JSON.stringify(row)), "no json", torn].join("\n"));
  expect(await processesOf(ledgerFile, dir).sweep()).toEqual([]);
  expect(isRunning(bystander)).toBe(true);
});

test("a daemon's own children are spared and stay recorded", async () => {
  const dir = await tempDir();
  const ledgerFile = join(dir, "children.jsonl");
  const processes = processesOf(ledgerFile, dir);
  const child = await processes.start(
    { argv: [process.execPath, "-e", "setInterval(() => {}, 1e3)"], env: {}, cwd: process.cwd() },
    agreed(),
  );
  onTestFinished(() => child.stop());
  expect(await processes.sweep()).toEqual([]);
  expect(isRunning(child.pid)).toBe(true);
  expect(await readFile(ledgerFile, "utf8")).toContain(`"pid":${child.pid},`);
});

function processesOf(ledgerFile: string, owner: string) {
  return createProcesses({ ledgerFile, owner, clock: systemClock, log: silentLogger });
}

/** The pids of two stubborn processes whose daemon was killed. */
async function killedDaemonsChildren(ledgerFile: string, owner: string, args: string[]): Promise<number[]> {
  const daemon = spawn(process.execPath, [fixture("owner.ts"), ledgerFile, owner, fixture("stubborn.mjs"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pids: number[] = [];
  for await (const line of lines(daemon.stdout)) {
    pids.push(Number(/\d+/.exec(line)?.[0]));
    if (pids.length === 2) break;
  }
  onTestFinished(() => {
    for (const pid of pids) if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
  daemon.kill("SIGKILL");
  await once(daemon, "exit");
  return pids;
}

function startBystander(): number {
  const bystander = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e3)"], { stdio: "ignore" });
  onTestFinished(() => {
    bystander.kill("SIGKILL");
  });
  return bystander.pid ?? Number.NaN;
}
