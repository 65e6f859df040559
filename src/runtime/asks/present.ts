/** Completes a file change for the person who approves it: adds the text that a full rewrite would replace. */
import { lstat, readFile } from "node:fs/promises";
import type { AskChange } from "../../contract/ask.ts";
import type { FileChange } from "../../drivers/driver.ts";
import { containedPath, isErrno } from "../../lib/files.ts";

const largestFile = 128 * 1024;

export function askChanges(changes: readonly FileChange[], root: string | null): Promise<AskChange[]> {
  return Promise.all(changes.map((change) => askChange(change, root)));
}

async function askChange(change: FileChange, root: string | null): Promise<AskChange> {
  const { path } = change;
  if ("patch" in change) return { path, before: null, after: null, patch: change.patch, note: null };
  const { before, after } = change;
  if (before !== undefined) return { path, before, after, patch: null, note: null };
  return { path, after, patch: null, ...(await presentText(path, root)) };
}

/** The agent chose the path, so only small, regular text files inside the project are read. */
async function presentText(path: string, root: string | null): Promise<Pick<AskChange, "before" | "note">> {
  const unknown = (why: string) => ({ before: null, note: `the present text is not shown: ${why}` });
  if (root === null) return unknown("the project's folder is not known");
  try {
    const place = await containedPath(root, path);
    if (place === null) return unknown("the file is outside the project");
    const info = await lstat(place);
    if (!info.isFile()) return unknown("it is not a regular file");
    if (info.size > largestFile) return unknown(`it has ${info.size} bytes`);
    const content = await readFile(place);
    return content.includes(0) ? unknown("it is a binary file") : { before: content.toString("utf8"), note: null };
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return { before: null, note: "a new file" };
    return unknown("it cannot be read");
  }
}
