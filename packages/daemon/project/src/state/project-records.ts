/**
 * `~/.aegis/projects/<id>.json`: the databases that this user created or adopted, each with its last path, its file
 * identity and its content at the last close. The records are outside every project, so that a project folder cannot
 * forge one.
 */
import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { tryFileLock } from "@aegis/lib/file-lock.ts";
import { isErrno, makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { z } from "zod";

const entrySchema = z.object({
  /** The project's real path. */
  root: z.string(),
  /** The database file; null before it exists. */
  file: z.object({ inode: z.string(), birth: z.string().nullable() }).nullable(),
  /** The content at the last close; null while the database is open and after a crash. */
  closed: z.object({ digest: z.string().nullable(), size: z.number() }).nullable(),
  /** When the user created or adopted the database. */
  since: z.string(),
  adopted: z.boolean(),
});
export type ProjectRecord = z.infer<typeof entrySchema>;

const stateId = /^[0-9a-f]{32}$/;

export function newStateId(): string {
  return randomBytes(16).toString("hex");
}

export function isStateId(value: unknown): value is string {
  return typeof value === "string" && stateId.test(value);
}

export class ProjectRecords {
  readonly #dir: string;

  constructor(home: string) {
    this.#dir = join(home, ".aegis", "projects");
  }

  /** Null for an id that is not this user's. Throws `invalid` if the entry is unusable. */
  async read(id: string): Promise<ProjectRecord | null> {
    const path = this.#path(id);
    try {
      return entrySchema.parse(JSON.parse(await readFile(path, "utf8")), { jitless: true });
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
      throw new AegisError("invalid", `${path} cannot be used: ${errorText(error)}`, {
        hint: "remove the file; the project's state then has to be adopted: aegis state show",
        cause: error,
      });
    }
  }

  /** The folders of all projects of this user. Skips unusable entries. */
  async roots(): Promise<string[]> {
    const names = await readdir(this.#dir).catch(() => []);
    const ids = names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
    const entries = await Promise.all(ids.filter(isStateId).map((id) => this.read(id).catch(() => null)));
    return [...new Set(entries.flatMap((entry) => (entry === null ? [] : [entry.root])))].sort();
  }

  async write(id: string, entry: ProjectRecord): Promise<void> {
    await makePrivateDir(this.#dir);
    await writeAtomic(this.#path(id), `${JSON.stringify(entry, null, 2)}\n`, { mode: 0o600 });
  }

  /**
   * Locks a database or a folder for one daemon. The lock lies here because files in the project can be deleted while a
   * daemon runs. Returns null if another process holds it.
   */
  async tryLock(what: { id: string } | { root: string }): Promise<Disposable | null> {
    await makePrivateDir(this.#dir);
    const name = "id" in what ? what.id : `folder-${createHash("sha256").update(what.root).digest("hex").slice(0, 32)}`;
    return tryFileLock(join(this.#dir, `${name}.lock`));
  }

  #path(id: string): string {
    if (!isStateId(id)) throw new TypeError(`"${id}" is not the id of a state`);
    return join(this.#dir, `${id}.json`);
  }
}
