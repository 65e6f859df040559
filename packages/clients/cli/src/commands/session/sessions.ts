/** Session commands that make one request and print its result. */

import { existsSync } from "node:fs";
import type { Client } from "@aegis/client/client.ts";
import { daemonClient } from "@aegis/client/project/http-fetch.ts";
import { whyWords } from "@aegis/client/views/why.ts";
import { timeOfDay } from "@aegis/client/views/words.ts";
import type { ApiOutput } from "@aegis/contract/api.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { isId, type MessageId, newId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { ensureProjectDaemon, noProject } from "../../daemon/connection.ts";
import { tellProblems } from "../../format/attention.ts";
import { table, tableOptions } from "../../format/columns.ts";
import { sessionLabel } from "../../format/session-names.ts";
import { problemLines, sessionTable } from "../../format/session-table.ts";
import { oneLine, plural } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { describeError, usageError } from "../../program/failure.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { lossLines } from "../project/store.ts";
import type { sessionCommands, subagentCommands } from "./spec.ts";

export const ps: Handler<typeof sessionCommands.ps> = async (cx, args) => {
  if (args.allProjects) return psEverywhere(cx, args);
  const connection = await ensureProjectDaemon(cx);
  if (connection === null) return cx.show({ sessions: [] }, noProject);
  const { client } = connection;
  const [{ sessions }, { store }] = await Promise.all([
    client.call("listSessions", { query: { closed: String(args.all) } }),
    client.call("status"),
  ]);
  const hasNodes = sessions.some(({ node }) => node !== undefined);
  const { nodes } = hasNodes ? await client.call("listNodes") : { nodes: [] };
  const lost = new Set(nodes.flatMap(({ name, state }) => (state === "lost" ? [name] : [])));
  cx.show({ sessions, losses: store.losses }, () => {
    for (const line of lossLines(store.losses)) cx.warn(cx.style.red(line));
    if (sessions.length > 0) {
      cx.tell(sessionTable(sessions, tableOptions(cx), lost));
      return problemLines(sessions).map(cx.style.red);
    }
    const none = args.all ? "No sessions yet." : "No open sessions.";
    return [none, "Start one with: aegis spawn, or start a chat: aegis chat"];
  });
};

export const spawn: Handler<typeof sessionCommands.spawn> = async (cx, { worktree, nodes, ...args }) => {
  if (args.base !== undefined && !worktree) throw usageError("--base needs --worktree");
  const { client } = await cx.daemon();
  const at = nodes.length === 0 ? {} : { nodes: [...nodes] };
  const body = { ...given(args), ...at, ...(worktree ? { isolation: "worktree" as const } : {}) };
  const answer = await client.call("createSession", { body });
  tellProblems(cx, await client.call("status"));
  return reportStart(cx, answer);
};

export const fork: Handler<typeof sessionCommands.fork> = async (cx, { session, ...args }) => {
  return reportStart(cx, await cx.call("forkSession", { path: { session }, body: given(args) }));
};

function reportStart(cx: Terminal, answer: ApiOutput<"createSession">): void {
  cx.show(answer, () => {
    cx.print(sessionLabel(answer.session));
    cx.warn(answer.receipt?.text ?? `chat with it: aegis chat ${answer.session.handle}`);
  });
}

export const close: Handler<typeof sessionCommands.close> = async (cx, args) => {
  const { client } = await cx.daemon();
  const closed = [];
  for (const session of args.sessions) {
    const answer = await client.call("closeSession", { path: { session } });
    closed.push(answer);
    const refused = answer.refused.length;
    cx.tell(`closed ${answer.session.handle}${refused === 0 ? "" : `, ${plural(refused, "waiting message")} refused`}`);
  }
  if (cx.json) cx.printJson({ closed });
};

/** Exits with 1 if there was no turn to interrupt. */
export const interrupt: Handler<typeof sessionCommands.interrupt> = async (cx, args) => {
  const answer = await cx.call("interruptSession", { path: { session: args.session } });
  cx.show(answer, answer.interrupted ? `interrupted ${args.session}` : `${args.session} has no running turn`);
  return answer.interrupted ? exitCodes.ok : exitCodes.failed;
};

export const rename: Handler<typeof sessionCommands.rename> = async (cx, args) => {
  const answer = await cx.call("updateSession", { path: { session: args.session }, body: { handle: args.handle } });
  cx.show(answer, `${args.session} is now ${answer.session.handle}`);
};

export const title: Handler<typeof sessionCommands.title> = async (cx, args) => {
  const answer = await cx.call("updateSession", { path: { session: args.session }, body: { title: args.title } });
  const { handle, title: set } = answer.session;
  cx.show(answer, set === "" ? `${handle} has no title` : `${handle}: ${set}`);
};

export const cancel: Handler<typeof sessionCommands.cancel> = async (cx, args) => {
  const message = messageId(args.message);
  const answer = await cx.call("cancelMessage", { path: { message } });
  cx.show(answer, `took back ${answer.message.id}`);
};

export function messageId(text: string): MessageId {
  if (isId("msg", text)) return text;
  throw usageError(
    `"${text}" is not a message's id: expected msg_ and 26 letters and digits, as in ${newId("msg", Date.now())}`,
  );
}

export const pool: Handler<typeof subagentCommands.pool> = async (cx) => {
  const answer = await cx.call("listPool");
  if (answer.agents.length === 0) return cx.show(answer, `The pool is empty; it keeps up to ${answer.max} agents.`);
  const { style } = cx;
  cx.show(answer, () => [
    ...table(cx, ["AGENT", "SESSION", "STATE", "TASKS", "LAST USED", "ID"], answer.agents, (one) => [
      { text: one.key, paint: style.cyan },
      one.handle,
      { text: one.stale ? `${one.state} (changed)` : one.state, paint: one.state === "busy" ? style.green : style.dim },
      String(one.uses),
      relativeTime(one.last_used_at, Date.now()),
      one.session,
    ]),
    style.dim(`${answer.agents.length} of ${answer.max}`),
  ]);
};

const shown = 80;

async function newestMessage(client: Client, session: string): Promise<MessageId> {
  const page = await client.call("listMessages", { path: { session }, query: { from: "newest", limit: 1 } });
  const newest = page.messages.at(-1);
  if (newest !== undefined) return newest.id;
  throw new AegisError("not_found", `${session} has received no message`);
}

export const why: Handler<typeof sessionCommands.why> = async (cx, args) => {
  const { client } = await cx.daemon();
  const message = isId("msg", args.message) ? args.message : await newestMessage(client, args.message);
  const answer = await client.call("why", { path: { message } });
  cx.show(answer, () =>
    answer.links.map((link, index) => {
      const time = link.at === null ? "" : ` ${cx.style.dim(timeOfDay(link.at))}`;
      const text = link.text === "" ? "" : `  ${cx.style.dim(oneLine(link.text).slice(0, shown))}`;
      const last = index === answer.links.length - 1;
      return `${index === 0 ? " " : "←"} ${last ? cx.style.cyan(whyWords(link)) : whyWords(link)}${time}${text}`;
    }),
  );
};

type Project = {
  project: string;
  /** `gone`: the folder no longer exists. `unreachable`: its daemon is alive but does not answer. */
  state: "running" | "stopped" | "unreachable" | "gone";
  problem: string | null;
  sessions: SessionView[];
};

/** All daemons are queried in parallel, so this also bounds the whole command. */
const answerMs = 3_000;

/** `aegis ps --all-projects`: the sessions of every project of this user whose daemon runs. Starts no daemon. */
async function psEverywhere(cx: Terminal, { all }: { all: boolean }): Promise<void> {
  const home = homeOf(cx.env);
  const { ProjectRecords } = await import("@aegis/project/state/project-records.ts");
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
