/** State of another user in which work waits: a run in a shell step, a message, a task and a schedule that is due. */
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll } from "vitest";
import { type AegisProject, aegisProject } from "../aegis.ts";
import { isRunning } from "../pids.ts";
import { obedient } from "../project.ts";
import { testFolder } from "../test-folder.ts";
import { waitUntil } from "../wait-until.ts";

export const files: Record<string, string> = {
  ...obedient,
  ".aegis.yaml": `default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  work: { agent: dev }
workflows:
  tdd_cycle: { implementer: dev, reviewer: dev, max_retries: 0 }
schedules:
  yearly: { agent: dev, prompt: from the schedule, cron: "0 0 1 1 *", missed: once }
`,
};

/** What the shell step leaves once it has run. */
export const trace = "ran-by-the-run";
const command = `touch started; while ! test -e gates/shell; do sleep 0.05; done; touch ${trace}`;

/** For all tests of a file: the folder to take the state from, made by the first test that needs it. */
export function strangersFolder(): () => Promise<string> {
  let made: Promise<string> | null = null;
  const make = async () => {
    const folder = await mkdtemp(join(testFolder(), "aegis-stranger-"));
    await giveState((await strangersProject()).root, folder);
    return folder;
  };
  afterAll(async () => {
    if (made !== null) await rm(await made, { recursive: true, force: true });
  });
  return () => {
    made ??= make();
    return made;
  };
}

/** A project whose daemon was killed in the middle of everything. */
async function strangersProject(): Promise<AegisProject> {
  const at = await aegisProject(files);
  await done(at, "spawn", "dev", "--handle", "patient-holder", "-m", "hold one");
  await done(at, "send", "patient-holder", "words that wait");
  await done(at, "queue", "enqueue", "work", "hold two");
  await done(at, "queue", "enqueue", "work", "a task that waits");
  const kwargs = JSON.stringify({ feature: "f", test_path: ".aegis.yaml", test_command: command });
  await done(at, "workflow", "run", "tdd_cycle", "--detach", "--kwargs", kwargs);
  await waitUntil("the shell step runs", () => existsSync(join(at.root, "started")), 30_000);
  const pid = await at.daemonPid();
  if (pid === null) throw new Error("no daemon");
  process.kill(pid, "SIGKILL");
  await waitUntil("the daemon is gone", () => !isRunning(pid));
  // Ends the shell of the stranger, which the kill left behind.
  await openGates(at.root);
  await waitUntil("the stranger's shell ended", () => existsSync(join(at.root, trace)), 30_000);
  const db = new DatabaseSync(join(at.root, ".aegis/state/aegis.db"));
  db.exec("UPDATE schedules SET cursor = cursor - 63072000000, since = since - 63072000000");
  db.close();
  return at;
}

/** Lets everything that waits in the project go on at once. */
export async function openGates(root: string): Promise<void> {
  await mkdir(join(root, "gates"), { recursive: true });
  for (const gate of ["one", "two", "shell"]) await writeFile(join(root, "gates", gate), "");
}

/** A folder of the person at this machine, with the stranger's state in it. All but the state is trusted. */
export async function victimOf(stranger: string): Promise<AegisProject> {
  const at = await aegisProject(files);
  await openGates(at.root);
  await giveState(stranger, at.root);
  return at;
}

export async function giveState(from: string, to: string): Promise<void> {
  const target = join(to, ".aegis/state");
  await mkdir(dirname(target), { recursive: true });
  await cp(join(from, ".aegis/state"), target, { recursive: true });
}

export async function done(at: AegisProject, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await at.aegis(...args);
  if (code !== 0) throw new Error(`aegis ${args.join(" ")} exited with ${code}: ${stderr}${stdout}`);
  return stdout;
}
