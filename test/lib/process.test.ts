import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { lines } from "../../src/lib/jsonl.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { type Child, createProcesses, type Processes } from "../../src/lib/process.ts";
import { fixture, isRunning } from "../helpers/pids.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const env = { PATH: process.env.PATH ?? "" };

test("a child's output, exit code and mark of its owner arrive", async () => {
  const dir = await tempDir();
  const script = "console.log(process.env.AEGIS_OWNER); process.exitCode = 3";
  const child = await startNode(["-e", script], await makeProcesses(dir));
  expect(await text(child)).toBe(`${dir}\n`);
  expect(await child.exited).toEqual({ code: 3, signal: null });
});

test("stop ends a group that ignores SIGTERM, also the grandchild that holds the pipe", async () => {
  const child = await startNode([fixture("stubborn.mjs")]);
  const pids = await readPids(child, 2);
  expect(pids.map(isRunning)).toEqual([true, true]);
  await child.stop({ graceMs: 50 });
  expect(pids.map(isRunning)).toEqual([false, false]);
  expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
});

test("a second stop with less grace does not wait for the first one's", async () => {
  const child = await startNode([fixture("stubborn.mjs")]);
  await readPids(child, 2);
  const patient = child.stop({ graceMs: 60_000 });
  await child.stop({ graceMs: 0 });
  await patient;
  expect(isRunning(child.pid)).toBe(false);
});

test("stop lets a child that listens to SIGTERM finish", async () => {
  const child = await startNode([
    "-e",
    "process.on('SIGTERM', () => { console.log('bye'); process.exit(7) }); console.log('up'); setInterval(() => {}, 1e3)",
  ]);
  const output = lines(child.stdout);
  expect((await output.next()).value).toBe("up");
  await child.stop();
  expect((await output.next()).value).toBe("bye");
  expect(await child.exited).toEqual({ code: 7, signal: null });
});

test("what a child leaves in its group ends with it", async () => {
  const script = `
    const { spawn } = require("node:child_process");
    const code = "console.log(process.pid); process.send(0); setInterval(() => {}, 1e3)";
    const grandchild = spawn(process.execPath, ["-e", code], { stdio: ["inherit", "inherit", "inherit", "ipc"] });
    grandchild.once("message", () => process.exit(0));`;
  const child = await startNode(["-e", script]);
  const [pid] = await readPids(child, 1);
  await child.exited;
  // Only the end of the grandchild closes the pipe.
  await text(child);
  await waitUntil("the grandchild is gone", () => !isRunning(Number(pid)));
});

test("output ends although a process outside the group keeps the pipe open", async () => {
  const processes = await makeProcesses();
  const child = await startNode([fixture("stubborn.mjs"), "escape"], processes);
  const output = lines(child.stdout);
  const pids = [pidIn((await output.next()).value), pidIn((await output.next()).value)];
  const escaped = Number(pids.find((pid) => pid !== child.pid));
  onTestFinished(() => {
    if (isRunning(escaped)) process.kill(escaped, "SIGKILL");
  });
  await child.stop({ graceMs: 50 });
  expect((await output.next()).done).toBe(true);
  expect(isRunning(escaped)).toBe(true);
  const swept = await processes.sweep();
  if (process.platform === "linux") expect(swept).toMatchObject([{ pid: escaped, killed: true }]);
});

test("ten megabytes on stderr neither block the child nor stay in memory", async () => {
  const child = await startNode([fixture("noisy.mjs")]);
  expect(await text(child)).toBe("done\n");
  await child.exited;
  const tail = child.stderrTail().split("\n");
  expect(tail.at(-1)).toMatch(/^9999 x/);
  expect(tail.every((line) => /^\d{4} x{1000}$/.test(line))).toBe(true);
  expect(child.stderrTail().length).toBeLessThanOrEqual(64 * 1024);
});

test("a reader that leaves does not block the child", async () => {
  const child = await startNode([
    "-e",
    "process.stdout.write('a'.repeat(5e6), () => { console.error('wrote it all'); })",
  ]);
  for await (const _ of child.stdout) break;
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(child.stderrTail()).toBe("wrote it all");
});

test("writing to a child that is gone is no error", async () => {
  const child = await startNode(["-e", ""]);
  await child.exited;
  child.stdin.write("too late\n");
  await child.stop();
});

test.each([
  ["ENOENT", (dir: string) => ({ argv: ["no-such-program-anywhere"] as const, cwd: dir }), /no-such-program/],
  ["ENOENT", (dir: string) => ({ argv: ["sh"] as const, cwd: join(dir, "missing") }), /missing/],
  ["EACCES", (dir: string) => ({ argv: [join(dir, "plain.txt")] as const, cwd: dir }), /plain\.txt/],
  ["ENOTDIR", (dir: string) => ({ argv: ["sh"] as const, cwd: join(dir, "plain.txt") }), /ENOTDIR/],
])("start rejects with %s as the system says it", async (code, command, message) => {
  const dir = await tempDir();
  await writeFile(join(dir, "plain.txt"), "not a program");
  await chmod(join(dir, "plain.txt"), 0o644);
  const processes = await makeProcesses(dir);
  const error = await processes.start({ env, ...command(dir) }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
});

/** The folder is also the owner's name, so that tests that run at the same time leave each other's children alone. */
async function makeProcesses(folder?: string): Promise<Processes> {
  const dir = folder ?? (await tempDir());
  return createProcesses({
    ledgerFile: join(dir, "children.jsonl"),
    owner: dir,
    clock: systemClock,
    log: silentLogger,
  });
}

async function startNode(args: string[], processes?: Processes): Promise<Child> {
  const from = processes ?? (await makeProcesses());
  const child = await from.start({ argv: [process.execPath, ...args], env, cwd: process.cwd() });
  onTestFinished(() => child.stop({ graceMs: 0 }));
  return child;
}

async function text(child: Child): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

async function readPids(child: Child, count: number): Promise<number[]> {
  const pids: number[] = [];
  const output = lines(child.stdout);
  while (pids.length < count) pids.push(pidIn((await output.next()).value));
  return pids;
}

function pidIn(line: unknown): number {
  return Number(/\d+/.exec(String(line))?.[0]);
}
