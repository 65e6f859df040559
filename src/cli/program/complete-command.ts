/** `aegis __complete`: prints candidates for the shell. Must be fast, never start a daemon, and never report errors. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { daemonClient } from "../../client/project/http-fetch.ts";
import { findProjectRoot, inspectDaemonFile } from "../../lib/daemon-file.ts";
import { oneLine } from "../format/text.ts";
import { type Candidate, type Suggestions, suggest } from "./complete.ts";
import { commandGroups, commands } from "./table.ts";

/** A shell that waits longer than this for a key press feels unresponsive. */
const limitMs = 500;

/** Returns lines for the shell. */
export async function complete(cwd: string, words: readonly string[]): Promise<string[]> {
  try {
    const { candidates, ask } = suggest(words, commands, commandGroups);
    if (ask === "file") return [":files"];
    const all = ask === null ? candidates : await askDaemon(projectFolder(cwd, words), ask);
    const current = words.at(-1) ?? "";
    return all.filter(({ value }) => value.startsWith(current)).map(toLine);
  } catch {
    return [];
  }
}

function projectFolder(cwd: string, words: readonly string[]): string {
  const option = words.findIndex((word) => word === "-C" || word === "--project");
  return option === -1 ? cwd : resolve(cwd, words[option + 1] ?? ".");
}

/** Only the newest tasks are useful candidates. */
const mostTasks = 50;

type Asked = Exclude<Suggestions["ask"], "file" | null>;

async function askDaemon(cwd: string, kind: Asked): Promise<Candidate[]> {
  const found = await inspectDaemonFile(findProjectRoot(cwd), homedir());
  if (found.state !== "live") return [];
  const client = daemonClient(found.file);
  const signal = AbortSignal.timeout(limitMs);
  if (kind === "agent") {
    const { agents } = await client.call("listAgents", { signal });
    return agents.map(({ slug, description }) => ({ value: slug, description }));
  }
  if (kind === "queue") {
    const { queues } = await client.call("listQueues", { signal });
    return queues.map(({ name, settings }) => ({ value: name, description: settings?.agent ?? "" }));
  }
  if (kind === "task") {
    const { tasks } = await client.call("listTasks", { query: { limit: mostTasks }, signal });
    return tasks.map(({ id, queue, status }) => ({ value: id, description: `${queue}, ${status}` }));
  }
  if (kind === "schedule") {
    const { schedules } = await client.call("listSchedules", { signal });
    return schedules.map(({ name, cron, timezone }) => ({ value: name, description: cron ?? timezone }));
  }
  if (kind === "skill") {
    const { skills } = await client.call("listSkills", { signal });
    return skills.map(({ name, description }) => ({ value: name, description }));
  }
  if (kind === "command") {
    const { commands } = await client.call("listCommands", { signal });
    return commands.flatMap((one) =>
      one.status === "ready" ? [{ value: `/${one.name}`, description: one.description }] : [],
    );
  }
  const { sessions } = await client.call("listSessions", { signal });
  return sessions.map((session) => ({ value: session.handle, description: session.title || session.agent }));
}

function toLine({ value, description }: Candidate): string {
  return description === "" ? value : `${value}\t${oneLine(description)}`;
}
