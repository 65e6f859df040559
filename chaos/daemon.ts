/** A real daemon process that can be killed at any instant. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@aegis/client/client.ts";
import { inspectDaemonFile, isSameProcess } from "@aegis/lib/daemon-file.ts";
import { agreeAlways } from "@aegis/project/trust/agree.ts";

const entry = fileURLToPath(new URL("../dist/daemon.js", import.meta.url));
const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
/** A machine that is far too busy may take minutes; what hangs takes longer. */
const startDeadlineMs = 180_000;

export type ChaosDaemon = {
  pid: number;
  client: Client;
  /** Resolves with its exit code or signal. */
  exited: Promise<string>;
  /** Ends it as a power cut would, and resolves when it is gone. */
  kill(): Promise<void>;
};

const environment = (project: string) => ({ PATH: process.env.PATH ?? "", HOME: project });

export async function startDaemon(project: string, more: Record<string, string> = {}): Promise<ChaosDaemon> {
  await agreeAlways({ root: project, env: { HOME: project } });
  const log = openSync(join(project, "daemon.log"), "a");
  const child = spawn(process.execPath, [entry, "--project", project], {
    cwd: project,
    env: { ...environment(project), AEGIS_LOG: "warn", ...more },
    stdio: ["ignore", log, log],
    // Ctrl-C ends the rounds and must not reach the daemon.
    detached: true,
  });
  closeSync(log);
  const exited = new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`)),
  );
  const client = await connect(project, child);
  return {
    pid: child.pid ?? 0,
    client,
    exited,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/**
 * Runs `aegis up` several times at once. Each must succeed, all must mean the same daemon, and only one process may be left.
 * Throws otherwise.
 */
export async function upTogether(project: string, times: number): Promise<ChaosDaemon> {
  await agreeAlways({ root: project, env: { HOME: project } });
  const ups = await Promise.all(Array.from({ length: times }, () => up(project)));
  const urls = new Set(ups.map(({ url }) => url));
  if (urls.size !== 1) throw new Error(`${times} × aegis up gave ${urls.size} daemons: ${[...urls].join(", ")}`);
  const found = await inspectDaemonFile(project, project);
  if (found.state !== "live") throw new Error(`no daemon runs after aegis up: ${found.state}`);
  const { file } = found;
  const deadline = performance.now() + startDeadlineMs;
  for (let pids = daemonsOf(project); pids.length !== 1; pids = daemonsOf(project)) {
    if (performance.now() > deadline) throw new Error(`${times} × aegis up left ${pids.length} daemons: ${pids}`);
    await delay(20);
  }
  const gone = async () => {
    while (isSameProcess(file)) await delay(5);
    return "gone";
  };
  return {
    pid: file.pid,
    client: createClient(file),
    get exited() {
      return gone();
    },
    async kill() {
      if (isSameProcess(file)) process.kill(file.pid, "SIGKILL");
      await gone();
    },
  };
}

async function up(project: string): Promise<{ url: string }> {
  const options = { cwd: project, env: environment(project), detached: true };
  const child = spawn(process.execPath, [cli, "up", "--json"], options);
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`aegis up ended with ${code}: ${errors}${output}`);
  return JSON.parse(output) as { url: string };
}

/** Leaves no daemon of the project behind, no matter what started it. */
export function endDaemons(project: string): void {
  for (const pid of daemonsOf(project)) process.kill(pid, "SIGKILL");
}

/** Daemon processes of the project, by what the system says. */
function daemonsOf(project: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words.includes(entry) && words.includes(project);
    } catch {
      return false;
    }
  });
}

async function connect(project: string, child: ChildProcess): Promise<Client> {
  const deadline = performance.now() + startDeadlineMs;
  while (performance.now() < deadline) {
    const how = child.exitCode ?? child.signalCode;
    if (how !== null) throw new Error(`the daemon exited with ${how}; see ${project}/daemon.log`);
    const found = await inspectDaemonFile(project, project);
    if (found.state === "live" && found.file.pid === child.pid) return createClient(found.file);
    await delay(5);
  }
  child.kill("SIGKILL");
  throw new Error(`the daemon did not come up within ${startDeadlineMs} ms; see ${project}/daemon.log`);
}
