/** A real daemon process that can be killed at any instant. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "../src/client/client.ts";
import { agreeAlways } from "../src/daemon/trust/agree.ts";
import { inspectDaemonFile } from "../src/lib/daemon-file.ts";

const entry = fileURLToPath(new URL("../dist/daemon.js", import.meta.url));
const startDeadlineMs = 20_000;

export type ChaosDaemon = {
  pid: number;
  client: Client;
  exited: Promise<void>;
  /** Ends it as a power cut would, and resolves when it is gone. */
  kill(): Promise<void>;
};

export async function startDaemon(project: string, more: Record<string, string> = {}): Promise<ChaosDaemon> {
  await agreeAlways({ root: project, env: { HOME: project } });
  const log = openSync(join(project, "daemon.log"), "a");
  const child = spawn(process.execPath, [entry, "--project", project], {
    cwd: project,
    env: { PATH: process.env.PATH ?? "", HOME: project, AEGIS_LOG: "warn", ...more },
    stdio: ["ignore", log, log],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
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

async function connect(project: string, child: ChildProcess): Promise<Client> {
  const deadline = performance.now() + startDeadlineMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the daemon exited with ${child.exitCode}; see ${project}/daemon.log`);
    const found = await inspectDaemonFile(project);
    if (found.state === "live" && found.file.pid === child.pid) return createClient(found.file);
    await delay(5);
  }
  child.kill("SIGKILL");
  throw new Error(`the daemon did not come up within ${startDeadlineMs} ms; see ${project}/daemon.log`);
}
