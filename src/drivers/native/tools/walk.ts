/** Lists the files of a project for the tools that search it. Does not follow links, so that the walk stays inside. */
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../../lib/files.ts";

const skipped: ReadonlySet<string> = new Set([".git", "node_modules", ".hg", ".svn"]);

/** A walk ends after this many entries; more would take too long. */
const mostEntries = 200_000;

export type Walked = { path: string; relative: string };

/** Folder by folder, each sorted by name. */
export async function* walk(root: string, signal: AbortSignal): AsyncGenerator<Walked> {
  let seen = 0;
  const folders: Walked[] = [{ path: root, relative: "" }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await list(folder.path);
    const below: Walked[] = [];
    for (const entry of entries) {
      signal.throwIfAborted();
      seen += 1;
      if (seen > mostEntries) return;
      const relative = folder.relative === "" ? entry.name : `${folder.relative}/${entry.name}`;
      const walked = { path: join(folder.path, entry.name), relative };
      if (entry.isFile()) yield walked;
      else if (entry.isDirectory() && !skipped.has(entry.name)) below.push(walked);
    }
    folders.push(...below.reverse());
  }
}

async function list(folder: string) {
  try {
    const entries = await Array.fromAsync(await opendir(folder));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    // Deleted meanwhile, or not readable: the rest of the project can still be searched.
    if (isErrno(error, "ENOENT", "EACCES", "EPERM", "ENOTDIR")) return [];
    throw error;
  }
}
