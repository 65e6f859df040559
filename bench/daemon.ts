/** The built daemon, started the way `aegis up` starts it, in a project of its own. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, createClient } from "@aegis/client/client.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { type DaemonFile, inspectDaemonFile, isSameProcess } from "@aegis/lib/daemon-file.ts";
import { agreeAlways } from "@aegis/project/trust/agree.ts";
import type { BenchContext } from "./bench.ts";

export const plainConfig = `
default_agent: parrot
agents:
  parrot: { harness: scripted, playbook: parrot.yaml }
`;

const playbook = `
rules:
  - name: anything
    when: always
    steps:
      - say: "noted"
`;

const stopDeadlineMs = 5_000;

export type BenchDaemon = { root: string; file: DaemonFile; client: Client; env: NodeJS.ProcessEnv };

/** Contents by path, instead of those of the plain project or besides them. */
export type ProjectFiles = Readonly<Record<string, string>>;

/** A project whose default agent answers each turn with one line. */
export async function writeProject(root: string, files: ProjectFiles = {}): Promise<void> {
  await mkdir(root);
  const all = { ".aegis.yaml": plainConfig, "parrot.yaml": playbook, ...files };
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** Ends with the scope of the benchmark. */
export async function startDaemon(context: BenchContext, name = "project", files?: ProjectFiles): Promise<BenchDaemon> {
  const root = join(context.folder, name);
  await writeProject(root, files);
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: root, AEGIS_LOG: "warn" };
  context.scope.defer(() => stopDaemon(root, env.HOME));
  await agreeAlways({ root, env });
  await promisify(execFile)(process.execPath, [join(context.dist, "cli.js"), "up"], { cwd: root, env });
  const found = await inspectDaemonFile(root, env.HOME);
  if (found.state !== "live")
    throw new Error(`aegis up left no live daemon in ${root}, but one that is ${found.state}`);
  return { root, file: found.file, client: createClient(found.file), env };
}

export async function createSessions({ client }: BenchDaemon, count: number): Promise<SessionId[]> {
  const ids: SessionId[] = [];
  for (let made = 0; made < count; made++) ids.push((await client.call("createSession", { body: {} })).session.id);
  return ids;
}

async function stopDaemon(root: string, home: string): Promise<void> {
  const found = await inspectDaemonFile(root, home);
  if (found.state !== "live") return;
  await createClient(found.file)
    .call("shutdown", { body: { force: true }, signal: AbortSignal.timeout(stopDeadlineMs) })
    .catch(() => {});
  const deadline = performance.now() + stopDeadlineMs;
  while (isSameProcess(found.file)) {
    if (performance.now() > deadline) process.kill(found.file.pid, "SIGKILL");
    await delay(10);
  }
}
