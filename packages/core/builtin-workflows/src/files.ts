/** Reads and writes project files as steps, so that a body's decisions depend only on recorded results. */
import { type WorkflowContext, WorkflowError } from "@aegis/plugin-api/index.ts";

/** Throws `WorkflowError` if the file is unreadable. */
export async function readText(context: WorkflowContext<never>, path: string): Promise<string> {
  const { exit, stdout, stderr } = await context.bash(`cat -- ${quote(path)}`);
  if (exit !== 0) throw new WorkflowError(`cannot read ${path}: ${stderr.trim()}`);
  return stdout;
}

/** An environment variable holds at most 128 KB, and a character takes up to three bytes. */
const partCharacters = 30_000;

/** Creates the parent folders. The text is passed in the environment, so the shell does not parse it. */
export async function writeText(context: WorkflowContext<never>, path: string, text: string): Promise<void> {
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  await succeed(context, `mkdir -p -- ${quote(folder)}`, path);
  const characters = [...text];
  const parts: string[] = [];
  for (let start = 0; start === 0 || start < characters.length; start += partCharacters) {
    const part = quote(`${path}.part-${parts.length}`);
    const TEXT = characters.slice(start, start + partCharacters).join("");
    await succeed(context, `printf '%s' "$TEXT" > ${part}`, path, { TEXT });
    parts.push(part);
  }
  await succeed(context, `cat -- ${parts.join(" ")} > ${quote(path)} && echo >> ${quote(path)}`, path);
  await succeed(context, `rm -f -- ${parts.join(" ")}`, path);
}

async function succeed(
  context: WorkflowContext<never>,
  command: string,
  path: string,
  env: Record<string, string> = {},
): Promise<void> {
  const { exit, stderr } = await context.bash(command, { env });
  if (exit !== 0) throw new WorkflowError(`cannot write ${path}: ${stderr.trim()}`);
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a few words that are safe in a file name. */
export function slug(text: string): string {
  const words = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, "-")
    .replace(/^-+|-+$/gu, "");
  return words.slice(0, 60).replace(/-+$/u, "") || "untitled";
}
