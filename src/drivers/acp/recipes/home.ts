/**
 * Builds a session's own copy of an agent's home: private entries, and links to all other files of the user, including
 * the login.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../../lib/files.ts";
import type { Launch } from "../recipe.ts";

/** `folder` is the copy below the state folder; `own` lists the entries that are not shared. */
export async function linksTo(users: string, folder: string, own: ReadonlySet<string>): Promise<Launch["links"]> {
  const shared = (await entriesOf(users)).filter((entry) => !own.has(entry));
  return shared.map((entry) => ({ name: join(folder, entry), target: join(users, entry) }));
}

export async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
