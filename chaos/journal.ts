/** What the ACP agents of a chaos run wrote down themselves. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { agentsFolder } from "./project.ts";

export type Journal = {
  /** Every prompt that any agent was sent. */
  prompts: { tokens: ReadonlySet<string>; marked: boolean }[];
  /** How often each token was acted on. */
  acts: Map<string, number>;
};

export async function readJournal(project: string): Promise<Journal> {
  const folder = agentsFolder(project);
  const names = await readdir(join(folder, "conversations")).catch(() => []);
  const conversations = await Promise.all(names.map((name) => readLines(join(folder, "conversations", name))));
  const prompts = conversations.flat().flatMap((line) => {
    if (typeof line.prompt !== "string") return [];
    // A notice about a call that was denied names what the call was for.
    const prompt = line.prompt.replace(/^\[Aegis: your call .*$/gm, "");
    return [{ tokens: new Set(prompt.match(/\b(?:act|permit)-\w+/g)), marked: line.marked === true }];
  });
  const acts = new Map<string, number>();
  for (const { token } of await readLines(join(folder, "acts.jsonl")))
    acts.set(String(token), (acts.get(String(token)) ?? 0) + 1);
  return { prompts, acts };
}

/** Processes that agents were started as, oldest first; most are gone. */
export async function agentPids(project: string): Promise<number[]> {
  return (await readLines(join(agentsFolder(project), "pids.jsonl"))).map(({ pid }) => Number(pid));
}

/** How often two processes worked for one session at the same time. */
export async function twinProcesses(project: string): Promise<number> {
  return (await readLines(join(agentsFolder(project), "twins.jsonl"))).length;
}

async function readLines(path: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
