/** Reads what CLIs keep of their conversations. */
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

export type Row = Readonly<Record<string, unknown>>;

/** The lines of the JSONL file below some folders that was written last: a CLI may copy a conversation that it resumes. */
export async function newestRows(folders: readonly string[]): Promise<Row[]> {
  const files: { path: string; at: number }[] = [];
  for (const folder of folders.filter((path) => existsSync(path)))
    for (const name of await readdir(folder, { recursive: true }))
      if (name.endsWith(".jsonl"))
        files.push({ path: join(folder, name), at: (await stat(join(folder, name))).mtimeMs });
  const newest = files.sort((a, b) => b.at - a.at)[0];
  const text = newest === undefined ? "" : await readFile(newest.path, "utf8");
  return text.split("\n").flatMap(parsed);
}

/** Every `text`, and every `content` that is text. */
export function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    typeof entry === "string" ? (key === "text" || key === "content" ? [entry] : []) : textsIn(entry),
  );
}

/** A process that was killed may leave half a line. */
function parsed(line: string): Row[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? [value as Row] : [];
  } catch {
    return [];
  }
}
