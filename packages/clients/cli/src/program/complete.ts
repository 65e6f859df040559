/**
 * `aegis __complete`: computes completions for the shell from the command table and the daemon. Must be fast, never start a
 * daemon, and never report errors.
 */

import { resolve } from "node:path";
import { daemonClient } from "@aegis/client/project/http-fetch.ts";
import { findProjectRoot, inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { userHome } from "@aegis/lib/home.ts";
import { oneLine } from "../format/text.ts";
import type { CommandSpec, Completion, OptionSpec } from "./command.ts";
import { commandGroups, commands } from "./table.ts";

type Option = Pick<OptionSpec, "flags" | "description" | "complete" | "hidden">;

type Candidate = { value: string; description: string };

/** Known candidates, and what the daemon or the shell must still provide. */
export type WordSuggestions = { candidates: Candidate[]; ask: Exclude<Completion, readonly string[]> | null };

const globalOptions: readonly Option[] = [
  { flags: "-C, --project <dir>", description: "work in this folder", complete: "file" },
  { flags: "--json", description: "print JSON, for scripts" },
  { flags: "-h, --help", description: "show help" },
];

/** `words` are the words after `aegis`; the last one is being typed and may be empty. */
export function suggest(
  words: readonly string[],
  commands: readonly CommandSpec[],
  groups: Readonly<Record<string, { summary: string }>>,
): WordSuggestions {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const { command, path, positionals, openOption } = read(before, commands);
  if (openOption !== null) return ofKind(openOption.complete, current);
  if (current.startsWith("-")) {
    const options = [...(command?.options ?? []), ...globalOptions];
    return known(options.filter(({ hidden }) => hidden !== true).flatMap(optionNames), current);
  }
  if (command === undefined) {
    const prefix = path.map((word) => `${word} `).join("");
    const next = new Map<string, string>();
    for (const { path: name, summary } of commands) {
      if (!name.startsWith(prefix)) continue;
      const [word = "", ...more] = name.slice(prefix.length).split(" ");
      next.set(word, more.length === 0 ? summary : (groups[prefix + word]?.summary ?? ""));
    }
    return known(
      [...next].map(([value, description]) => ({ value, description })),
      current,
    );
  }
  const specs = command.arguments;
  const last = specs.at(-1);
  const argument = specs[positionals] ?? (last?.synopsis.includes("...") ? last : undefined);
  return ofKind(argument?.complete, current);
}

type Read = {
  command: CommandSpec | undefined;
  path: string[];
  /** The number of arguments typed so far. */
  positionals: number;
  /** The option whose value is being typed. */
  openOption: Option | null;
};

function read(words: readonly string[], commands: readonly CommandSpec[]): Read {
  const result: Read = { command: undefined, path: [], positionals: 0, openOption: null };
  for (const word of words) {
    if (result.openOption !== null) {
      result.openOption = null;
      continue;
    }
    if (word.startsWith("-") && word !== "-") {
      const options = [...(result.command?.options ?? []), ...globalOptions];
      const option = options.find((candidate) => namesOf(candidate).includes(word));
      if (option?.flags.includes("<")) result.openOption = option;
      continue;
    }
    if (result.command !== undefined) {
      result.positionals += 1;
      continue;
    }
    result.path.push(word);
    result.command = commands.find((candidate) => candidate.path === result.path.join(" "));
  }
  return result;
}

function ofKind(kind: Completion | undefined, current: string): WordSuggestions {
  if (kind === undefined) return { candidates: [], ask: null };
  if (typeof kind === "string") return { candidates: [], ask: kind };
  return known(
    kind.map((value) => ({ value, description: "" })),
    current,
  );
}

function known(candidates: readonly Candidate[], current: string): WordSuggestions {
  return { candidates: candidates.filter(({ value }) => value.startsWith(current)), ask: null };
}

function optionNames(option: Option): Candidate[] {
  const long = namesOf(option).filter((name) => name.startsWith("--"));
  return long.map((value) => ({ value, description: option.description }));
}

function namesOf(option: Option): string[] {
  return option.flags.split(/[ ,]+/).filter((part) => part.startsWith("-"));
}

/** A shell that waits longer than this for a key press feels unresponsive. */
const limitMs = 500;

/** Returns lines for the shell. */
export async function complete(cwd: string, words: readonly string[]): Promise<string[]> {
  try {
    const { candidates, ask } = suggest(words, commands, commandGroups);
    if (ask === "file") return [":files"];
    const all = ask === null ? candidates : await candidatesOf(ask, cwd, words);
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

async function candidatesOf(
  kind: Exclude<WordSuggestions["ask"], "file" | null>,
  cwd: string,
  words: readonly string[],
) {
  if (kind !== "mcp program") return askDaemon(projectFolder(cwd, words), kind);
  const { mcpPrograms } = await import("@aegis/project/harnesses/mcp-targets.ts");
  return mcpPrograms.map(({ name }) => ({ value: name, description: "" }));
}

/** Only the newest tasks are useful candidates. */
const mostTasks = 50;

type Asked = Exclude<WordSuggestions["ask"], "file" | "mcp program" | null>;

async function askDaemon(cwd: string, kind: Asked): Promise<Candidate[]> {
  const found = await inspectDaemonFile(findProjectRoot(cwd), userHome());
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
