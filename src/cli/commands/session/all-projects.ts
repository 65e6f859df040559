/** `aegis ps --all-projects`: lists the sessions of every project of this user whose daemon runs. Starts no daemon. */
import { existsSync } from "node:fs";
import { daemonClient } from "../../../client/project/http-fetch.ts";
import type { SessionView } from "../../../contract/session.ts";
import { inspectDaemonFile } from "../../../lib/daemon-file.ts";
import { homeOf } from "../../../lib/home.ts";
import { tableOptions } from "../../format/columns.ts";
import { sessionTable } from "../../format/session-table.ts";
import { oneLine } from "../../format/text.ts";
import { describeError } from "../../program/failure.ts";
import type { Terminal } from "../../terminal/terminal.ts";

type Project = {
  project: string;
  /** `gone`: the folder no longer exists. `unreachable`: its daemon is alive but does not answer. */
  state: "running" | "stopped" | "unreachable" | "gone";
  problem: string | null;
  sessions: SessionView[];
};

/** All daemons are queried in parallel, so this also bounds the whole command. */
const answerMs = 3_000;

export async function psEverywhere(cx: Terminal, { all }: { all: boolean }): Promise<void> {
  const home = homeOf(cx.env);
  const { ProjectRecords } = await import("../../../project/state/project-records.ts");
  const roots = await new ProjectRecords(home).roots();
  const projects = await Promise.all(roots.map((root) => look(root, home, all)));
  if (projects.length === 0)
    return cx.show({ projects }, "No projects yet. Create one with: aegis init, or aegis chat");
  const blocks = projects.map((one) => projectLines(one, all, cx));
  cx.show({ projects }, () => blocks.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines])));
}

function projectLines({ project, state, problem, sessions }: Project, all: boolean, cx: Terminal): string[] {
  const { style } = cx;
  const note = problem === null ? state : `${state}: ${oneLine(problem)}`;
  const head = `${style.bold(oneLine(project))}  ${state === "running" ? style.green(note) : style.dim(note)}`;
  if (state !== "running") return [head];
  const none = [style.dim(all ? "no sessions" : "no open sessions")];
  return [head, ...(sessions.length === 0 ? none : sessionTable(sessions, tableOptions(cx)))];
}

async function look(project: string, home: string, all: boolean): Promise<Project> {
  const none = { project, problem: null, sessions: [] };
  if (!existsSync(project)) return { ...none, state: "gone" };
  const found = await inspectDaemonFile(project, home);
  if (found.state === "broken" || found.state === "foreign")
    return { ...none, state: "stopped", problem: found.problem };
  if (found.state !== "live") return { ...none, state: "stopped" };
  try {
    const { sessions } = await daemonClient(found.file).call("listSessions", {
      query: { closed: String(all) },
      signal: AbortSignal.timeout(answerMs),
    });
    return { ...none, state: "running", sessions };
  } catch (error) {
    return { ...none, state: "unreachable", problem: describeError(error).message };
  }
}
