/**
 * Determines whose state a project holds before any of it is used. The database is not opened for that: a marker signed
 * with the user's key names it, and the user's project records identify its file and its content at the last close.
 */
import { constants } from "node:fs";
import { copyFile, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { stateDir, storePath } from "@aegis/lib/daemon-file.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { findUserKey, openUserKey, type UserKey } from "@aegis/lib/user-key.ts";
import { readIdentity } from "@aegis/store-sqlite/identity.ts";
import { inspect, refuseUnusable } from "@aegis/store-sqlite/inspect.ts";
import { newestVersion } from "@aegis/store-sqlite/migrate.ts";
import { migrations } from "@aegis/store-sqlite/migrations/list.ts";
import { digestOf, identityOf, isSameFile, looksLikeDatabase, sizeOf } from "./fingerprint.ts";
import { containedStateDir } from "./folder.ts";
import { readMarker } from "./marker.ts";
import { type ProjectRecord, ProjectRecords } from "./project-records.ts";

/** The reason why state is not known to be this user's. */
export type UnknownReason = "unmarked" | "foreign" | "unregistered" | "copied" | "replaced" | "changed";

export type StateVerdict =
  /** There is nothing that Aegis would act on. */
  | { kind: "new" }
  | { kind: "own"; id: string; entry: ProjectRecord }
  | { kind: "unknown"; reason: UnknownReason; message: string };

/** Closed databases up to this size are identified by content; larger ones only by their file. */
export const digestedBytes = 256 * 1024 * 1024;

/** `root` is a real path. Read-only. Throws `unavailable` for a state folder that links out of the project. */
export async function judgeState(root: string, home: string): Promise<StateVerdict> {
  const dir = await containedStateDir(root);
  const key = await useKey(() => findUserKey(home));
  const marker = await readMarker(dir, key);
  if (marker.state === "none") return (await holdsNothing(dir)) ? { kind: "new" } : unknown("unmarked");
  if (marker.state === "foreign") return unknown("foreign");
  const { id } = marker;
  const entry = await new ProjectRecords(home).read(id);
  if (entry === null) return unknown("unregistered");
  if (await isCopy(root, id, entry, key)) return unknown("copied", `of ${entry.root}`);
  const found = await judgeDatabase(storePath(root), id, entry);
  // The store sets a damaged database aside and uses nothing from it.
  const problem = found === "changed" && (await isDamaged(storePath(root))) ? null : found;
  return problem === null ? { kind: "own", id, entry } : unknown(problem);
}

/** The user's key, created if missing. Throws `unavailable` if it is unusable. */
export function requireKey(home: string): Promise<UserKey> {
  return useKey(() => openUserKey(home));
}

/** Thrown before any of the state is used. A person decides what to do with it. */
export class UnknownStateError extends AegisError {
  constructor(root: string, { reason, message }: { reason: UnknownReason; message: string }) {
    super("unavailable", `the state in ${stateDir(root)} is not known to be yours: ${message}`, {
      hint: "none of it was used; see its contents with `aegis state show`, then `aegis state adopt` or `aegis state set-aside`",
      details: { state: "unknown", reason, path: stateDir(root) },
    });
  }
}

const messages: Readonly<Record<UnknownReason, string>> = {
  unmarked: "it came with the folder, or an older Aegis created it",
  foreign: "another user's key signed it",
  unregistered: "your key signed it, but ~/.aegis/projects does not list it",
  copied: "it is a copy",
  replaced: "the database is not the file that Aegis created",
  changed: "the database was changed since Aegis closed it",
};

function unknown(reason: UnknownReason, more = ""): StateVerdict {
  return { kind: "unknown", reason, message: `${messages[reason]}${more === "" ? "" : ` ${more}`}` };
}

/** Files that Aegis may leave in a project before there is state. Aegis acts on none of them without a signature. */
const inert = [
  /^\.gitignore$/,
  /^daemon\.json$/,
  /^daemon\.log(\.1)?$/,
  /^lock\.db(-journal)?$/,
  /^config\.\d+\.lock$/,
  /\.tmp$/,
  /^installs$/,
  /^aegis\.db/,
];

async function holdsNothing(dir: string): Promise<boolean> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return true;
    throw error;
  }
  if (names.some((name) => !inert.some((pattern) => pattern.test(name)))) return false;
  return !(await looksLikeDatabase(`${dir}/aegis.db`));
}

/** Checks whether the state also exists at its previous path. Both copies would do the pending work. */
async function isCopy(root: string, id: string, entry: ProjectRecord, key: UserKey | null): Promise<boolean> {
  if (entry.root === root) return false;
  const [here, there] = [stateDir(root), stateDir(entry.root)];
  try {
    const original = await readMarker(there, key);
    if (original.state !== "own" || original.id !== id) return false;
    const [a, b] = await Promise.all([stat(here), stat(there)]);
    return a.dev !== b.dev || a.ino !== b.ino;
  } catch {
    // State that is no longer readable there cannot be used there either.
    return false;
  }
}

/** The store sets aside a file that does not look like a database, and runs nothing from it. */
async function judgeDatabase(path: string, id: string, { file, closed }: ProjectRecord): Promise<UnknownReason | null> {
  const now = await identityOf(path);
  if (now === null || !(await looksLikeDatabase(path))) return null;
  await refuseUnusable(path, newestVersion(migrations));
  const same = file !== null && isSameFile(file, now);
  // The database was not closed, so its content is unknown; it must at least be the one that was created in this file.
  if (closed === null) return same && readIdentity(path) === id ? null : "replaced";
  if (closed.digest !== null) return (await digestOf(path)) === closed.digest ? null : same ? "changed" : "replaced";
  const size = (await sizeOf(path)) + (await sizeOf(`${path}-wal`));
  return same && size === closed.size ? null : same ? "changed" : "replaced";
}

/** Checks a copy, because SQLite creates files beside a database that it opens. */
async function isDamaged(path: string): Promise<boolean> {
  if ((await sizeOf(path)) > digestedBytes) return false;
  const folder = await mkdtemp(join(tmpdir(), "aegis-judge-"));
  try {
    const copy = join(folder, "aegis.db");
    for (const suffix of ["", "-wal"])
      if ((await sizeOf(path + suffix)) > 0) await copyFile(path + suffix, copy + suffix, constants.COPYFILE_FICLONE);
    return (await inspect(copy, newestVersion(migrations))).state === "damaged";
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function useKey<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new AegisError("unavailable", `your key cannot be used: ${errorText(error)}`, {
      hint: "Aegis signs what it keeps in projects with it; without it no state can be opened",
      cause: error,
    });
  }
}
