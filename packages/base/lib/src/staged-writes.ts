/**
 * Atomic writes into folders that belong to the user. A temporary file beside the target would be seen by everything that
 * reads the folder meanwhile, and a killed process would leave it behind, where the next commit includes it. So the new
 * content is written into a private folder and renamed from there.
 */
import { randomBytes } from "node:crypto";
import { readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ifMissing, isErrno, makePrivateDir, syncFolder, writeSynced } from "./files.ts";

export type WriteFile = (path: string, data: string | Uint8Array, options?: { mode?: number }) => Promise<void>;

const stagedEnd = ".tmp";
const recordEnd = ".copy";

export class StagedWrites {
  readonly #dir: string;

  /** `dir` is private to the daemon. It is created on the first write. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Replaces a file. Its folder must exist. */
  readonly write: WriteFile = async (path, data, { mode = 0o644 } = {}) => {
    await makePrivateDir(this.#dir);
    const id = randomBytes(6).toString("hex");
    const staged = join(this.#dir, `${id}${stagedEnd}`);
    try {
      await writeSynced(staged, data, mode);
      await rename(staged, path).catch((error: unknown) => {
        if (!isErrno(error, "EXDEV")) throw error;
        return this.#viaCopy(id, path, (beside) => writeSynced(beside, data, mode));
      });
    } finally {
      await rm(staged, { force: true });
    }
    await syncFolder(dirname(path));
  };

  /** Removes what a killed process left behind, here and beside the targets. */
  async recover(): Promise<void> {
    for (const name of await namesIn(this.#dir)) {
      const path = join(this.#dir, name);
      if (name.endsWith(recordEnd)) await removeCopy(path, name.slice(0, -recordEnd.length));
      await rm(path, { force: true });
    }
  }

  /** The target is on another file system. A link in the private folder records the temporary file beside it. */
  async #viaCopy(id: string, path: string, write: (path: string) => Promise<void>): Promise<void> {
    const beside = join(dirname(path), copyName(basename(path), id));
    const record = join(this.#dir, `${id}${recordEnd}`);
    await symlink(beside, record);
    try {
      await write(beside);
      await rename(beside, path);
    } finally {
      await rm(beside, { force: true });
      await rm(record, { force: true });
    }
  }
}

function copyName(name: string, id: string): string {
  return `.${name}.${id}${stagedEnd}`;
}

/** A record can name only a file that this class would have created. */
async function removeCopy(record: string, id: string): Promise<void> {
  const beside = await readlink(record).catch(() => null);
  if (beside !== null && basename(beside).startsWith(".") && beside.endsWith(copyName("", id).slice(1)))
    await rm(beside, { force: true });
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch(ifMissing([]));
}
