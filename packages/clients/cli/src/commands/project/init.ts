/** `aegis init`: writes a first project file, and keeps private files out of git. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { configFileName, findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { writeAtomic } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { errorText } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { parse, stringify } from "yaml";
import type { Handler } from "../../program/command.ts";
import { type CliContext, exitCodes } from "../../terminal/context.ts";
import { ignoreInGit } from "./git-ignore.ts";
import {
  type AgentSession,
  type Choice,
  colleaguesOf,
  type Extra,
  type FoundAgent,
  moreAgents,
} from "./init-agents.ts";
import { type InitTeam, teamOf } from "./init-team.ts";
import { template } from "./init-text.ts";
import type { projectCommands } from "./spec.ts";

export type InitArgs = {
  /** Skips all questions. */
  yes: boolean;
  /** Replaces an existing project file. */
  force: boolean;
  /** The members of the team that the user named; without it, the agents found on this machine. */
  team?: InitTeam | undefined;
  /** Agents that edit work in git worktrees. */
  worktrees?: boolean;
  /** The agent that detection chose. */
  agent: { slug: string; harness: string; model?: string | undefined; permission: Permission; why: string };
  /** The other agents found on this machine. */
  others?: readonly (FoundAgent & { starts: boolean })[];
  /** Names that agent files already declare; init does not replace those agents. */
  named?: readonly string[];
  /** The open sessions in the project's embedded database; their agents must be kept. */
  sessions?: () => Promise<AgentSession[]>;
  /** The same in the database of its cluster, which then has all of them; null without a cluster. */
  clusterSessions?: () => Promise<AgentSession[] | null>;
  harnesses: readonly string[];
};

const permissions = ["read", "write", "full", "auto"] as const;
type Permission = Agent["permission"];

export const initHere: Handler<typeof projectCommands.init> = async (cx, args) => {
  const { clusterSessionsOf, codingClis, harnessNames, openSessionsOf, suggestAgents } = await import(
    "@aegis/project/checkup.ts"
  );
  const { agent, why, others, named } = await suggestAgents(cx.cwd, cx.env);
  const { slug, harness, permission } = agent;
  const starting = new Set([harness, ...others.filter(({ starts }) => starts).map((one) => one.agent.harness)]);
  const { worktrees } = args;
  const team =
    args.team === undefined ? undefined : teamOf({ named: args.team, known: codingClis(), starting, worktrees });
  return init(cx, {
    yes: args.yes,
    force: args.force,
    team,
    worktrees,
    agent: { slug, harness, model: agent.model ?? undefined, permission, why },
    others: others.map(({ agent: other, starts }) => ({ ...other, starts })),
    named,
    sessions: () => openSessionsOf(cx.cwd, cx.env),
    clusterSessions: () => clusterSessionsOf(cx.cwd, cx.env),
    harnesses: harnessNames(cx.cwd, cx.env),
  });
};

export async function init(cx: CliContext, args: InitArgs): Promise<number> {
  const path = join(cx.cwd, configFileName);
  const replaced = existsSync(path);
  if (replaced && !args.force)
    throw new AegisError("conflict", `${path} already exists`, {
      hint: "edit it, use aegis config, or replace it with: aegis init --force",
    });
  const cluster = await clusterBefore(path);
  const { localFileName } = await import("@aegis/project/config/files.ts");
  const isCluster = cluster !== null || (await clusterBefore(join(cx.cwd, localFileName))) !== null;
  const inCluster = await sessionsInCluster(args, isCluster);
  const outer = replaced ? cx.cwd : findProjectRoot(dirname(cx.cwd));
  const choice = args.team?.first ?? (args.yes || !cx.interactive ? suggestion(args) : await ask(cx, args));
  if (choice === null) {
    cx.warn("Nothing was written.");
    return exitCodes.interrupted;
  }
  const fileText = (extra: readonly Extra[]) => template(choice, extra) + clusterText(cluster);
  const check = (extra: readonly Extra[]) => problemsOf(cx.cwd, path, fileText(extra), args.harnesses);
  refuse(await check([]));
  const found = foundOf(args);
  const { extras, notes } = await moreAgents({
    choice,
    colleagues: args.team?.others ?? colleaguesOf(found),
    found,
    named: args.named ?? [],
    before: await agentsBefore(path),
    sessions: inCluster ?? (await sessionsOf(cx, args)),
    check,
  });
  const text = fileText(extras);
  for (const slug of args.team?.absent ?? []) notes.push(`${slug} does not start on this machine; see: aegis doctor`);
  if (args.worktrees === true && !existsSync(join(cx.cwd, ".git")))
    notes.push("worktrees need a git repository, and this folder is not the top of one; create one with: git init");
  if (cluster !== null) notes.push("the cluster section was kept, because the data of the project is in its database");
  refuse(await check(extras));
  const { editAsOwner } = await import("@aegis/project/trust/agree.ts");
  const { harnesses } = args;
  await editAsOwner({ root: cx.cwd, env: cx.env, harnesses }, () => writeAtomic(path, text));
  const ignored = await ignoreInGit(cx.cwd);
  const colleagues = extras.filter(({ role }) => role === "colleague").map(({ slug }) => slug);
  const more_agents = extras.map(({ slug, role }) => ({ slug, role }));
  cx.show({ ok: true, file: path, replaced, agent: choice, more_agents, notes, gitignore: ignored }, () => {
    const file = relative(cx.cwd, path);
    cx.print(`${replaced ? "Replaced" : "Wrote"} ${file} with the agent ${choice.slug} (${choice.harness}).`);
    if (choice.why !== null) cx.print(`It was chosen because ${choice.why}.`);
    if (colleagues.length > 0 && args.team !== undefined) cx.print(`The rest of the team: ${colleagues.join(", ")}`);
    else if (colleagues.length > 0)
      cx.print(`More agents that read and review, because their harness also works here: ${colleagues.join(", ")}`);
    for (const note of notes) cx.print(`Note: ${note}`);
    if (ignored.length > 0) cx.print(`Added to .gitignore: ${ignored.join(", ")}`);
    if (existsSync(join(outer, configFileName)) && outer !== cx.cwd)
      cx.print(`Note: ${join(outer, configFileName)} no longer applies in this folder.`);
    return nextSteps;
  });
  return exitCodes.ok;
}

const nextSteps = [
  "",
  "Next:",
  "  aegis                  open the terminal app and talk to it",
  "  aegis web              open the web app",
  "  aegis config show      see every setting",
  "  aegis config agent add add another agent",
];

function suggestion({ agent, worktrees }: InitArgs): Choice {
  const { slug, harness, permission, why } = agent;
  const isolation = worktrees === true ? "worktree" : null;
  return { slug, harness, model: agent.model ?? null, permission, isolation, why };
}

/** All agents found on this machine; the one that detection chose first. */
function foundOf({ agent, others = [] }: InitArgs): (FoundAgent & { starts: boolean })[] {
  return [{ slug: agent.slug, harness: agent.harness, model: agent.model ?? null, starts: true }, ...others];
}

/** Null if the user ends the input instead of answering. */
async function ask(cx: CliContext, args: InitArgs): Promise<Choice | null> {
  const suggested = suggestion(args);
  const input = createInterface({ input: cx.stdin, terminal: false });
  const lines = input[Symbol.asyncIterator]();
  const question = async <T extends string>(text: string, choices: readonly T[], preset: T): Promise<T | null> => {
    while (true) {
      cx.write(`${text} (${choices.join(", ")}) [${preset}] `);
      const line = await lines.next();
      if (line.done === true) return null;
      const answer = line.value.trim();
      const chosen = answer === "" ? preset : choices.find((choice) => choice === answer);
      if (chosen !== undefined) return chosen;
      cx.print(`"${answer}" is not one of them${didYouMean(answer, choices)}.`);
    }
  };
  try {
    cx.print(`Suggested agent: ${suggested.slug} (${suggested.harness}), because ${args.agent.why}.`);
    const harness = await question("Which harness runs your agent?", args.harnesses, suggested.harness);
    if (harness === null) return null;
    const permission = await question("What may it do without asking?", permissions, suggested.permission);
    if (permission === null) return null;
    if (harness === suggested.harness) return { ...suggested, permission };
    return { slug: harness, harness, model: null, permission, isolation: suggested.isolation, why: null };
  } finally {
    input.close();
  }
}

/** A problem of the configuration, and the line that describes it. */
type Wrong = { problem: unknown; line: string };

/** Includes existing overlays: the first start must not fail on a file that init just wrote. */
async function problemsOf(root: string, path: string, text: string, harnesses: readonly string[]): Promise<Wrong[]> {
  const { loadProject } = await import("@aegis/project/config/load.ts");
  const { diskFiles } = await import("@aegis/project/config/files.ts");
  const { formatProblem } = await import("@aegis/project/config/problem.ts");
  const read = async (file: string) => (file === path ? Buffer.from(text) : diskFiles.read(file));
  const { problems } = await loadProject(root, { harnesses }, { ...diskFiles, read });
  return problems.map((problem) => ({ problem, line: formatProblem(problem) }));
}

function refuse(wrong: readonly Wrong[]): void {
  if (wrong.length === 0) return;
  const lines = wrong.map(({ line }) => `  ${line}`).join("\n");
  throw new AegisError("invalid", `nothing was written, because the project would not load:\n${lines}`, {
    details: { problems: wrong.map(({ problem }) => problem) },
  });
}

/** Unreadable state does not prevent a new configuration, but init warns about what may be lost. */
async function sessionsOf(cx: CliContext, { sessions }: InitArgs): Promise<AgentSession[]> {
  try {
    return (await sessions?.()) ?? [];
  } catch (error) {
    cx.warn(`aegis: the open sessions of this project could not be read: ${errorText(error)}`);
    cx.warn("  their agents may be missing from the new file: see aegis ps");
    return [];
  }
}

/** Throws if the sessions may be in a database that cannot be asked: the new file could leave out their agents. */
async function sessionsInCluster({ clusterSessions }: InitArgs, isCluster: boolean): Promise<AgentSession[] | null> {
  let sessions: AgentSession[] | null;
  try {
    sessions = (await clusterSessions?.()) ?? null;
  } catch (error) {
    const given = isAegisError(error) ? error : new AegisError("unavailable", errorText(error));
    throw new AegisError(given.code, `nothing was written: the open sessions cannot be read: ${given.message}`, {
      hint: given.hint ?? "start the database, or edit the file instead",
      cause: error,
    });
  }
  if (sessions === null && isCluster && clusterSessions !== undefined)
    throw new AegisError("invalid", "nothing was written: the cluster cannot be asked for its open sessions", {
      hint: "the configuration is invalid: correct what aegis config show reports, then run this again",
    });
  return sessions;
}

/** The cluster section of a configuration file; null if it has none. Throws if it cannot be read. */
async function clusterBefore(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch(() => "");
  try {
    const value: unknown = parse(text);
    return isRecord(value) ? (value.cluster ?? null) : null;
  } catch {
    if (!/^cluster\s*:/m.test(text)) return null;
    throw new AegisError("invalid", `nothing was written: ${path} has a cluster section and is not valid YAML`, {
      hint: "correct what aegis config show reports, then run this again",
    });
  }
}

function clusterText(cluster: unknown): string {
  if (cluster === null) return "";
  return `\n# Kept from the file before: the data of the project is in this database.\n${stringify({ cluster })}`;
}

/** The agents of the file being replaced; null if there is no readable file. */
async function agentsBefore(path: string): Promise<Record<string, Extra["entry"]> | null> {
  try {
    const value: unknown = parse(await readFile(path, "utf8"));
    const agents = isRecord(value) ? value.agents : null;
    if (!isRecord(agents)) return null;
    return Object.fromEntries(
      Object.entries(agents).filter((one): one is [string, Record<string, unknown>] => isRecord(one[1])),
    );
  } catch {
    return null;
  }
}
