/** Lists the pending work in unknown state without using or changing anything in it. */
import { constants } from "node:fs";
import { copyFile, lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { readContents, type Waiting } from "@aegis/store-sqlite/waiting.ts";
import { digestOf } from "./fingerprint.ts";
import { containedStateDir, refuseLinks } from "./folder.ts";

export type StateContents = {
  path: string;
  /** Identifies the exact database content that a person agrees to. Null if there is no database. */
  digest: string | null;
  /** The reason why it cannot be adopted, or null. */
  problem: string | null;
  waiting: Waiting[];
  /** The names of the other files in the folder. */
  files: string[];
};

/** `limit` is the number of items per kind. */
export async function lookIntoState(root: string, limit: number): Promise<StateContents> {
  const dir = await containedStateDir(root);
  await refuseLinks(root);
  const files = await readdir(dir).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  });
  const others = files.filter((name) => !name.startsWith("aegis.db")).sort();
  const path = storePath(root);
  if (!(await isFile(path))) return { path: dir, digest: null, problem: null, waiting: [], files: others };
  const folder = await mkdtemp(join(tmpdir(), "aegis-state-"));
  try {
    // The log may contain data that is not in the database yet. SQLite recreates its other side file.
    const copy = join(folder, "aegis.db");
    for (const suffix of ["", "-wal"])
      if (await isFile(path + suffix)) await copyFile(path + suffix, copy + suffix, constants.COPYFILE_FICLONE);
    const digest = await digestOf(copy);
    return { path: dir, digest, ...readContents(copy, limit), files: others };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    const found = await lstat(path);
    if (found.isFile()) return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
  throw new AegisError("unavailable", `${path} is not a file`, { hint: "set it aside with: aegis state set-aside" });
}
