/** The system prompt of a native agent: its own prompt, the project's instructions, and its environment. */
import { readFile } from "node:fs/promises";
import { containedPath } from "../../lib/files.ts";

/** The first existing file is used. */
const projectFiles = ["AGENTS.md", "CLAUDE.md"];
const longestProjectFile = 32 * 1024;

const base = `You are a coding agent that works in a project folder with the tools you are given.
Read before you change: look at the relevant files, keep changes small and in the style of the project, and check them.
Say briefly what you did and what is left open. If something is refused or fails, say so; never claim what you did not do.`;

export type PromptFacts = {
  cwd: string;
  /** The session's part: the agent's prompt and how to reach its peers. */
  systemPrompt: string;
  now: number;
  platform: string;
  model: string;
  tools: readonly string[];
};

export async function buildSystemPrompt(facts: PromptFacts): Promise<string> {
  const parts = [base, facts.systemPrompt.trim(), await projectNotes(facts.cwd), environment(facts), toolNotes(facts)];
  return parts.filter((part) => part !== "").join("\n\n");
}

async function projectNotes(cwd: string): Promise<string> {
  for (const name of projectFiles) {
    const path = await containedPath(cwd, name).catch(() => null);
    const text = path === null ? null : await readFile(path, "utf8").catch(() => null);
    if (text === null || text.trim() === "") continue;
    const cut = text.length > longestProjectFile;
    const note = cut ? `\n[cut: ${text.length - longestProjectFile} more characters; read ${name} for the rest]` : "";
    return `# ${name} of this project\n\n${text.slice(0, longestProjectFile).trim()}${note}`;
  }
  return "";
}

function environment({ cwd, now, platform, model }: PromptFacts): string {
  const date = new Date(now).toISOString().slice(0, 10);
  return `# Environment\n\nProject folder: ${cwd}\nDate: ${date}\nPlatform: ${platform}\nModel: ${model}`;
}

function toolNotes({ tools }: PromptFacts): string {
  const notes = ["Paths are relative to the project folder; nothing outside it can be read or written."];
  if (tools.includes("edit"))
    notes.push("Read a file before you change it. A change is refused as stale when someone else changed the file.");
  if (tools.includes("bash")) notes.push("A command has no input and ends with everything it started.");
  notes.push("Calls that only look may be made together in one step.");
  return `# Tools\n\n${notes.map((note) => `- ${note}`).join("\n")}`;
}
