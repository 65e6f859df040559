/** Files of the project, read and written by steps: what a body decides depends on what is on record. */
import { type Engine, WorkflowError } from "../plugin-api/index.ts";

/** Throws `WorkflowError` when it cannot be read. */
export async function readText(engine: Engine<never>, path: string): Promise<string> {
  const { exit, stdout, stderr } = await engine.bash(`cat -- ${quote(path)}`);
  if (exit !== 0) throw new WorkflowError(`cannot read ${path}: ${stderr.trim()}`);
  return stdout;
}

/** Makes the folders on the way. The text travels in the environment, where the shell does not read it. */
export async function writeText(engine: Engine<never>, path: string, text: string): Promise<void> {
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  const command = `mkdir -p -- ${quote(folder)} && printf '%s\\n' "$TEXT" > ${quote(path)}`;
  const { exit, stderr } = await engine.bash(command, { env: { TEXT: text } });
  if (exit !== 0) throw new WorkflowError(`cannot write ${path}: ${stderr.trim()}`);
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** For a file's name: a few words, safe everywhere. */
export function slug(text: string): string {
  const words = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, "-")
    .replace(/^-+|-+$/gu, "");
  return words.slice(0, 60).replace(/-+$/u, "") || "untitled";
}
