/**
 * Kills the daemon after every single commit of a run, one life for each, lets another daemon continue, and compares what
 * agents, people, the shell and files saw of it with what an uninterrupted run shows them.
 */
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Client } from "@aegis/client/client.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId, type RunId } from "@aegis/contract/ids.ts";
import { completedTurns, type Finding, readAllEvents } from "./check.ts";
import { type ChaosDaemon, startDaemon } from "./daemon.ts";
import { files, type RunToCut, runsToCut } from "./runs-to-cut.ts";
import { until } from "./scenario.ts";

const preload = pathToFileURL(join(import.meta.dirname, "kill-after.ts")).href;
const lifeDeadlineMs = 60_000;

export type CutOptions = {
  /** Only runs of this one. */
  workflow: string | undefined;
  /** Every so many commits one is chosen, beginning with `from`. */
  every: number;
  from: number;
  say: (line: string) => void;
};

type Seen = {
  commits: number;
  /** One that came to its end with fewer commits than another was not. */
  wasKilled: boolean;
  /** What was running may happen once more: a command, and an attempt of a task whose queue allows it. */
  repeatable: Record<"commands" | "tries", number>;
  effects: Record<string, unknown>;
};

export async function cutAfterCommits({
  workflow,
  every,
  from,
  say,
}: CutOptions): Promise<{ kills: number; findings: Finding[] }> {
  const runs = runsToCut.filter((one) => workflow === undefined || one.workflow === workflow);
  if (runs.length === 0) {
    const names = [...new Set(runsToCut.map((one) => one.workflow))];
    throw new Error(`--workflow ${workflow}: expected one of ${names.join(", ")}`);
  }
  const template = await createRepository();
  const findings: Finding[] = [];
  let kills = 0;
  for (const run of runs) {
    const name = `${run.workflow} ${JSON.stringify(run.args)}`;
    const whole = await live(template, run, null);
    for (let commit = from; commit <= whole.commits; commit += every) {
      const cut = await live(template, run, commit);
      if (cut.wasKilled) kills += 1;
      findings.push(...differences(`${name}, killed after commit ${commit}`, cut, whole));
    }
    say(`  ${name}: ${whole.commits} commits`);
  }
  await rm(template, { recursive: true, force: true });
  return { kills, findings };
}

function differences(name: string, cut: Seen, whole: Seen): Finding[] {
  const findings: Finding[] = [];
  for (const what of ["commands", "tries"] as const) {
    const more = cut.repeatable[what] - whole.repeatable[what];
    if (more < 0) findings.push({ kind: "lost", what: `${name}: ${-more} ${what}` });
    if (more > 1) findings.push({ kind: "doubled", what: `${name}: ${more} ${what}` });
  }
  for (const [what, expected] of Object.entries(whole.effects)) {
    const found = cut.effects[what];
    if (isDeepStrictEqual(found, expected)) continue;
    findings.push({
      kind: "different",
      what: `${name}: ${what} are ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`,
    });
  }
  return findings;
}

async function createRepository(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "aegis-commits-"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: dir });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "begin");
  git("checkout", "-qb", "feature");
  await writeFile(join(dir, "new.txt"), "new\n");
  git("add", "-A");
  git("commit", "-qm", "new");
  return dir;
}

/** One run from its start to its end, in a folder of its own; `last` is the commit after which its first daemon dies. */
async function live(template: string, run: RunToCut, last: number | null): Promise<Seen> {
  const dir = await mkdtemp(join(tmpdir(), "aegis-commits-"));
  await cp(template, dir, { recursive: true });
  const file = join(dir, ".aegis", "kill-after");
  const id = newId("run", 1);
  const first = await startDaemon(dir, { NODE_OPTIONS: `--import=${preload}`, CHAOS_KILL_AFTER: file });
  let daemon = first;
  try {
    await until("the workflow", lifeDeadlineMs, () => isKnown(first.client, run.workflow));
    await writeFile(file, String(last ?? Number.POSITIVE_INFINITY));
    const isOver = await goOn(first, run, id);
    if (!isOver) {
      daemon = await startDaemon(dir);
      await until("the workflow", lifeDeadlineMs, () => isKnown(daemon.client, run.workflow));
      await goOn(daemon, run, id);
    }
    const { size: commits } = await stat(`${file}.commits`);
    const events = await readAllEvents(daemon.client);
    const tries = events.filter(({ type }) => type === "task.dispatched").length;
    const effects = await effectsOf(dir, events);
    return { commits, wasKilled: !isOver, repeatable: { commands: await commandRuns(dir), tries }, effects };
  } finally {
    await daemon.kill();
    await rm(dir, { recursive: true, force: true });
  }
}

async function isKnown(client: Client, workflow: string): Promise<boolean> {
  const { workflows } = await client.call("listWorkflows");
  return workflows.some(({ name }) => name === workflow);
}

/** False when the daemon died before the run and everything that belongs to it was over. */
async function goOn(daemon: ChaosDaemon, { workflow, args }: RunToCut, id: RunId): Promise<boolean> {
  const { client } = daemon;
  try {
    await client.call("startRun", { path: { workflow }, body: { id, args } });
    await until(`the end of ${workflow}`, lifeDeadlineMs, async () => {
      for (const ask of (await client.call("listAsks")).asks) {
        const choice = ask.options.length === 0 ? { text: "yes" } : { choice: "yes" };
        await client.call("answerAsk", { path: { ask: ask.id }, body: choice });
      }
      const { run } = await client.call("getRun", { path: { run: id } });
      const { sessions } = await client.call("listSessions");
      return run.ended_at !== null && sessions.length === 0;
    });
    return true;
  } catch (error) {
    if (!isAegisError(error) || error.code !== "unavailable") throw error;
    await daemon.exited;
    return false;
  }
}

/** The sessions that try a task, and their messages, count as tries. */
async function effectsOf(dir: string, events: readonly Event[]): Promise<Record<string, unknown>> {
  const workers = new Set(events.map((event) => (event.type === "task.dispatched" ? event.data.worker : null)));
  const own = events.filter(({ session }) => session === null || !workers.has(session));
  const bodies = new Map(
    events.flatMap(({ type, data }) => (type === "message.admitted" ? [[data.message.id, data.message.body]] : [])),
  );
  return {
    ends: own.flatMap(({ type, data }) => (type === "run.ended" ? [[data.status, data.result]] : [])),
    messages: own.flatMap(({ type, data }) => (type === "message.admitted" ? [data.message.body] : [])).sort(),
    answers: [...completedTurns(events)].map(([id, times]) => `${times} × ${bodies.get(id)}`).sort(),
    questions: events.flatMap(({ type, data }) => (type === "ask.opened" ? [data.ask.question] : [])).sort(),
    checkpoints: events.flatMap(({ type, data }) => (type === "run.checkpoint" ? [data.name] : [])),
    sessions: own.filter(({ type }) => type === "session.created").length,
    tasks: events.flatMap(({ type, data }) => (type === "task.ended" ? [data.status] : [])),
    files: await filesOf(dir),
  };
}

async function filesOf(dir: string): Promise<string[]> {
  const names = (await readdir(dir, { recursive: true })).filter((name) => /^[^.].*\.(md|txt)$/.test(name)).sort();
  return Promise.all(names.map(async (name) => `${name}: ${await readFile(join(dir, name), "utf8")}`));
}

async function commandRuns(dir: string): Promise<number> {
  const text = await readFile(join(dir, "shell.log"), "utf8").catch(() => "");
  return text.split("\n").length - 1;
}
