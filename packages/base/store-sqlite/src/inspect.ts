/**
 * Inspects a database file before it is opened for writing. A file of another program or of a newer version is refused
 * and left unchanged. A damaged file is reported, so that it can be set aside.
 *
 * The header is always checked. A full `quick_check` (about a second per gigabyte) runs for small files, for larger
 * files after an unclean shutdown, and for any size after damage was detected at run time. Damage that these checks
 * miss appears as an error of the statement that reads it; the next start then runs the full check.
 */
import { existsSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { AegisError } from "@aegis/contract/errors.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { Connection } from "./connection.ts";
import { DamageError, storeError } from "./errors.ts";
import { applicationId, schemaVersion } from "./migrate.ts";

/** `damaged` states the reason; `empty` is a file that was created and never written. */
export type Finding = { state: "absent" | "empty" | "ours" } | { state: "damaged"; reason: string };

/** The side files of the database at `path`. */
export const sideFiles = ["-wal", "-shm"] as const;

/** Created when damage is detected at run time, so that the next start checks the whole file. */
export function suspectMark(path: string): string {
  return `${path}.suspect`;
}

export async function inspect(path: string, newest: number): Promise<Finding> {
  const size = await sizeOf(path);
  const logSize = (await sizeOf(`${path}-wal`)) ?? 0;
  if (size === null || size === 0) {
    // SQLite would silently delete the log, and with it the data that only the log holds.
    if (logSize > 0) return { state: "damaged", reason: "the database file is empty or missing, but its log is not" };
    return { state: size === null ? "absent" : "empty" };
  }
  const header = await readHeader(path);
  if (header === null) return { state: "damaged", reason: "file is not a database" };
  // If SQLite opens a database, even read-only, it creates side files. Removing them is not safe, because a newer Aegis
  // may have started to use them. So the header is parsed directly; SQLite is only needed if a log may override it.
  if (logSize === 0) judge(path, header, newest);
  return inspectWithLog(path, newest, {
    full: existsSync(suspectMark(path)) || size <= (logSize > 0 ? checkedAfterCrash : checkedAlways),
  });
}

/**
 * Throws `unavailable` for a database of another program or of a newer Aegis. Reads only the header and does not open
 * the file with SQLite. If there is a log, which may override the header, it does not throw.
 */
export async function refuseUnusable(path: string, newest: number): Promise<void> {
  if (((await sizeOf(path)) ?? 0) === 0 || ((await sizeOf(`${path}-wal`)) ?? 0) > 0) return;
  const header = await readHeader(path);
  if (header !== null) judge(path, header, newest);
}

/** The largest files, in bytes, that are checked at every start, and at a start that finds a leftover log. */
const checkedAlways = 32 * 1024 * 1024;
const checkedAfterCrash = 512 * 1024 * 1024;

type Header = { application: number; version: number; blank: boolean };

/** The first page in SQLite's format: the file header, then the root of the schema table. */
const layout = { magic: "SQLite format 3\0", version: 60, application: 68, pageType: 100, cells: 103, length: 105 };
const leafPage = 13;

async function inspectWithLog(path: string, newest: number, check: { full: boolean }): Promise<Finding> {
  const connection = new Connection(path, { readOnly: true });
  try {
    judge(path, headerOf(connection), newest);
    if (check.full) {
      const result = connection.get<{ quick_check: string }>("PRAGMA quick_check(1)");
      if (result?.quick_check !== "ok")
        return { state: "damaged", reason: result?.quick_check ?? "quick_check failed" };
      await rm(suspectMark(path), { force: true });
    }
    return { state: "ours" };
  } catch (error) {
    if (error instanceof DamageError) return { state: "damaged", reason: error.message };
    throw error;
  } finally {
    connection.close();
  }
}

function judge(path: string, header: Header, newest: number): void {
  if (header.application === 0 && header.blank) return;
  if (header.application !== applicationId)
    throw new AegisError("unavailable", `${path} is a database of another program`, {
      hint: "move it away, or give Aegis another folder; it was not changed",
    });
  if (header.version > newest)
    throw new AegisError(
      "unavailable",
      `${path} was written by a newer Aegis (schema ${header.version}, this one knows ${newest})`,
      { hint: "start the newer Aegis, or move the file away to start with an empty database; Aegis did not change it" },
    );
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new AegisError("unavailable", `${path} is not a file`);
    return found.size;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw storeError(error, path);
  }
}

/** Returns null if the file does not start like a database. */
async function readHeader(path: string): Promise<Header | null> {
  const bytes = Buffer.alloc(layout.length);
  try {
    const file = await open(path, "r");
    try {
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
      if (bytesRead < bytes.length || !bytes.toString("latin1").startsWith(layout.magic)) return null;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw storeError(error, path);
  }
  return {
    application: bytes.readUInt32BE(layout.application),
    version: bytes.readUInt32BE(layout.version),
    blank: bytes.readUInt8(layout.pageType) === leafPage && bytes.readUInt16BE(layout.cells) === 0,
  };
}

function headerOf(connection: Connection): Header {
  const tables = connection.get<{ count: number }>("SELECT count(*) AS count FROM sqlite_schema")?.count ?? 0;
  return {
    application: connection.get<{ application_id: number }>("PRAGMA application_id")?.application_id ?? 0,
    version: schemaVersion(connection),
    blank: tables === 0,
  };
}
