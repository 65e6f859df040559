/** Harnesses of tests whose own record shows which prompts they received. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fixture } from "../pids.ts";
import { type Project, testProject } from "../project.ts";

export type Harness = {
  agent: Record<string, unknown>;
  /** What the harness's own record has of prompts, all conversations together. */
  prompts(home: string): Promise<string[]>;
  /** From now on the agent answers at once. */
  hurry(home: string): Promise<void>;
  forget(home: string): Promise<void>;
};

const touch = async (path: string) => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "");
};

async function filesOf(folder: string, ending: string): Promise<string[]> {
  const names = existsSync(folder) ? await readdir(folder) : [];
  const wanted = names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  return Promise.all(wanted.map((path) => readFile(path, "utf8")));
}

/** Connects to the plane at once, so that its first prompt does not wait for that. */
export function acp(...flags: string[]): Harness {
  return acpAgent("--lists", ...flags);
}

/** Null for a record that the harness is just writing. */
function whole<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}

export function acpAgent(...flags: string[]): Harness {
  const folder = (home: string) => join(home, ".acp-fixture");
  return {
    agent: { harness: "acp", options: { command: [process.execPath, fixture("acp-agent.mjs"), ...flags] } },
    async prompts(home) {
      const files = await filesOf(folder(home), ".json");
      return files.flatMap((text) => whole<{ prompts: string[] }>(text)?.prompts ?? []);
    },
    hurry: (home) => touch(join(folder(home), "quick")),
    forget: (home) => rm(folder(home), { recursive: true }),
  };
}

export const claude: Harness = {
  agent: { harness: "claude-code", options: { command: [process.execPath, fixture("claude.mjs")] } },
  async prompts(home) {
    const texts = await filesOf(join(home, ".claude/projects/-fixture"), ".jsonl");
    const rows = texts.flatMap((text) => text.split("\n")).filter((row) => row !== "");
    type Row = { message: { content: { text: string }[] } };
    return rows.flatMap((row) => (whole<Row>(row)?.message.content ?? []).map((part) => part.text));
  },
  hurry: (home) => touch(join(home, "quick")),
  async forget(home) {
    for (const folder of [".fixture-claude", ".claude"]) await rm(join(home, folder), { recursive: true });
  },
};

export const codex: Harness = {
  agent: { harness: "codex", options: { command: [process.execPath, fixture("codex.mjs")] } },
  async prompts(home) {
    const files = await filesOf(join(home, ".fixture-codex"), ".texts");
    return files.flatMap((text) => whole<string[]>(text) ?? []);
  },
  hurry: (home) => touch(join(home, "quick")),
  async forget(home) {
    await rm(join(home, ".fixture-codex"), { recursive: true });
  },
};

export const homeOf = ({ dir }: Project) => join(dirname(dir), "home");

export const projectWith = ({ agent }: Harness) =>
  testProject({ ".aegis.yaml": `default_agent: dev\nagents: ${JSON.stringify({ dev: agent })}\n` });

/** The prompts about the work that a test gives. */
export const works = (prompts: readonly string[]) => prompts.filter((text) => text.includes("the work"));
