/**
 * Collects the sources of lost sessions: transcripts and the events of set-aside databases. It copies them to
 * `.aegis/state/salvage` first, so that an interrupted salvage resumes with the same data after a daemon has rewritten
 * the transcripts.
 */
import { existsSync } from "node:fs";
import { type FileHandle, open, readdir, rename } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { isId, type SessionId } from "@aegis/contract/ids.ts";
import { ifMissing, makePrivateDirsBelow, syncFolder } from "@aegis/lib/files.ts";
import { readIdentity } from "@aegis/store-sqlite/identity.ts";
import { readDamagedEvents, type StoredEvent } from "@aegis/store-sqlite/read-damaged.ts";
import { sessionOf } from "./transcript.ts";

const folder = "salvage";
/** Marks files that were extracted from a database. */
const fromDatabase = "database";

/** The set-aside databases in the state folder, oldest first. */
export async function setAsideDatabases(stateDir: string): Promise<string[]> {
  const names = (await filesIn(stateDir)).filter((name) => /^aegis\.db\.corrupt-[\w-]+$/.test(name));
  return names.filter((name) => !/-(wal|shm)$/.test(name)).sort();
}

/** The database that a person named. Throws `invalid` if it does not belong to this project. */
export function requireOwnDatabase(stateDir: string, named: string, id: string): string {
  const path = dirname(named) === "." ? join(stateDir, named) : resolve(named);
  const name = basename(path);
  if (dirname(path) !== resolve(stateDir) || !name.startsWith("aegis.db."))
    throw new AegisError("invalid", `${named} is not a database that was set aside in ${stateDir}`, {
      hint: "name one of the files aegis.db.corrupt-… there",
    });
  if (!existsSync(path)) throw new AegisError("not_found", `there is no file ${path}`);
  const found = readIdentity(path);
  if (found !== null && found !== id)
    throw new AegisError("invalid", `${path} belongs to another state, so none of it was read`);
  return name;
}

/** Returns the source files of each session for which `isKnown` returns false. */
export async function collectSources(
  stateDir: string,
  databases: readonly string[],
  isKnown: (session: SessionId) => Promise<boolean>,
): Promise<Map<SessionId, string[]>> {
  const dir = await makePrivateDirsBelow(stateDir, folder);
  const transcripts = join(stateDir, "sessions");
  for (const name of await filesIn(transcripts)) {
    const session = sessionOf(name);
    if (session === null || (await isKnown(session))) continue;
    await rename(join(transcripts, name), freePath(dir, name));
  }
  for (const [index, name] of databases.entries()) await extract(join(stateDir, name), dir, index, isKnown);
  await syncFolder(dir);
  const sources = new Map<SessionId, string[]>();
  for (const name of (await filesIn(dir)).sort()) {
    const session = sessionOf(name);
    if (session === null || (await isKnown(session))) continue;
    sources.set(session, [...(sources.get(session) ?? []), join(dir, name)]);
  }
  return sources;
}

/** Writes the readable events of a database as transcripts. Overwrites those of an earlier salvage. */
async function extract(
  database: string,
  dir: string,
  index: number,
  isKnown: (session: SessionId) => Promise<boolean>,
): Promise<void> {
  const files = new Map<string, FileHandle | null>();
  const fileOf = async (session: string): Promise<FileHandle | null> => {
    if (!isId("ses", session) || (await isKnown(session))) return null;
    return open(join(dir, `${session}.${fromDatabase}-${index}.jsonl`), "w", 0o600);
  };
  const waiting = new Map<string, string[]>();
  const flush = async () => {
    for (const [session, rows] of waiting) await files.get(session)?.appendFile(rows.join(""));
    waiting.clear();
  };
  try {
    let held = 0;
    for (const event of readDamagedEvents(database)) {
      if (files.size < mostFiles && !files.has(event.session)) files.set(event.session, await fileOf(event.session));
      if (files.get(event.session) == null) continue;
      const rows = waiting.get(event.session) ?? [];
      rows.push(lineOf(event));
      waiting.set(event.session, rows);
      held += event.data.length;
      if (held < heldChars) continue;
      await flush();
      held = 0;
    }
    await flush();
  } finally {
    for (const file of files.values()) await file?.close();
  }
}

/** The limit of open files per database. Sessions beyond it are restored from their transcripts only. */
const mostFiles = 500;
const heldChars = 4 * 1024 * 1024;

function lineOf({ data, ...event }: StoredEvent): string {
  // The stored data is already JSON and may be damaged. The reader skips lines that do not parse.
  return `${JSON.stringify(event).slice(0, -1)},"data":${data.replaceAll("\n", " ")}}\n`;
}

async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(ifMissing([]));
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

function freePath(dir: string, name: string): string {
  const stem = name.slice(0, -".jsonl".length);
  let path = join(dir, name);
  for (let n = 2; existsSync(path); n++) path = join(dir, `${stem}.${n}.jsonl`);
  return path;
}
