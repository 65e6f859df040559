import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { agreed } from "@aegis/test/helpers/consent.ts";
import { fixture, isRunning } from "@aegis/test/helpers/pids.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../src/clock.ts";
import { lines } from "../src/jsonl.ts";
import { silentLogger } from "../src/log.ts";
import { type Child, createProcesses, type Processes } from "../src/process.ts";

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

test("stop ends a process that left the group and ignores SIGTERM, and the output with it", async () => {
  const child = await startNode([fixture("stubborn.mjs"), "escape"]);
  const output = lines(child.stdout);
  const pids = [pidIn((await output.next()).value), pidIn((await output.next()).value)];
  const escaped = Number(pids.find((pid) => pid !== child.pid));
  endLater(escaped);
  await child.stop({ graceMs: 50 });
  expect(isRunning(escaped)).toBe(false);
  expect((await output.next()).done).toBe(true);
});

/** How a program may try to get away; each says the pid of the one that stays. `stay` ignores SIGTERM. */
const stay = "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done'";
const escapes = {
  "a session of its own": `setsid ${stay} & sleep 1000`,
  "a double fork into a session of its own": `(setsid ${stay} &) & sleep 1000`,
  "a session of its own, no environment, and a parent that lives": `env -i setsid -w ${stay}`,
  "a group of its own without an environment": `set -m; env -i PATH="$PATH" ${stay} & sleep 1000`,
};

test.each(Object.entries(escapes))("stop ends what took %s", async (_, script) => {
  const child = await startShell(script);
  const pid = Number((await lines(child.stdout).next()).value);
  endLater(pid);
  expect(isRunning(pid)).toBe(true);
  await child.stop({ graceMs: 30 });
  expect(isRunning(pid)).toBe(false);
});

test("what left the group ends soon after a child that ends by itself", { tags: "slow" }, async () => {
  const child = await startShell(`(setsid ${stay} &) | head -n 1`);
  const pid = Number((await lines(child.stdout).next()).value);
  endLater(pid);
  expect(await child.exited).toEqual({ code: 0, signal: null });
  await waitUntil("the escaped process is gone", () => !isRunning(pid));
});

test("the end of one child leaves alone what another started", { tags: "slow" }, async () => {
  const processes = await makeProcesses();
  const [one, other] = [
    await startShell(escapes["a session of its own"], processes),
    await startShell(escapes["a session of its own"], processes),
  ];
  const [first, second] = await Promise.all(
    [one, other].map(async (child) => Number((await lines(child.stdout).next()).value)),
  );
  endLater(Number(first));
  endLater(Number(second));
  await one.stop({ graceMs: 10 });
  expect([first, second].map((pid) => isRunning(Number(pid)))).toEqual([false, true]);
  await processes.close();
  expect(isRunning(Number(second))).toBe(false);
});

test("what a child starts while it is being ended ends too", async () => {
  const child = await startShell(
    `trap '(setsid ${stay.replaceAll("'", "'\\''")} &)' TERM; echo up; while :; do sleep 0.02; done`,
  );
  const output = lines(child.stdout);
  expect((await output.next()).value).toBe("up");
  const stopped = child.stop({ graceMs: 300 });
  const pid = Number((await output.next()).value);
  endLater(pid);
  await stopped;
  expect(isRunning(pid)).toBe(false);
});

test("a mark given to others ends what they start", { tags: "slow" }, async () => {
  const processes = await makeProcesses();
  const mark = processes.mark();
  const other = spawn("setsid", ["sh", "-c", 'trap "" TERM; echo up; while :; do sleep 1; done'], {
    env: { ...env, ...mark.env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pid = Number(other.pid);
  endLater(pid);
  await once(other.stdout, "data");
  await mark.end();
  expect(isRunning(pid)).toBe(false);
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
  const error = await processes.start({ env, ...command(dir) }, agreed()).catch((reason: unknown) => reason);
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

function startNode(args: string[], processes?: Processes): Promise<Child> {
  return start([process.execPath, ...args], processes);
}

async function start(argv: [string, ...string[]], processes?: Processes): Promise<Child> {
  const from = processes ?? (await makeProcesses());
  const child = await from.start({ argv, env, cwd: process.cwd() }, agreed());
  onTestFinished(() => child.stop({ graceMs: 0 }));
  return child;
}

function startShell(script: string, processes?: Processes): Promise<Child> {
  return start(["sh", "-c", script], processes);
}

/** Leaves nothing behind, also after a failed assertion. */
function endLater(pid: number): void {
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
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
