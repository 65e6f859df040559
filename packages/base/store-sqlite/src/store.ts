/** The embedded store: one SQLite file, one connection that writes and one that reads what is committed. */
import { existsSync, writeFileSync } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { makePrivateDir } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { Listeners } from "@aegis/store/listeners.ts";
import type { Store, StoreHealth, StoreLoss, StoreReads, StoreTx } from "@aegis/store/store.ts";
import { createReads, createTables } from "@aegis/store/tables.ts";
import { Connection } from "./connection.ts";
import { DamageError, storeError } from "./errors.ts";
import { beginDatabase, type DatabaseOwner } from "./identity.ts";
import { inspect, sideFiles, suspectMark } from "./inspect.ts";
import { LogRoom } from "./log-room.ts";
import { migrate, newestVersion } from "./migrate.ts";
import { migrations } from "./migrations/list.ts";
import { SqliteWriter } from "./writer.ts";

export type SqliteStoreOptions = {
  path: string;
  clock: Clock;
  log: Logger;
  /** Gives a new database its id. Without one a database is begun without. */
  owner?: DatabaseOwner;
  losses?: LossLog;
};

/** Records that a database was lost, before another one begins in its place. */
export type LossLog = {
  /** There was a database here before: one that is missing or empty was lost. */
  expected: boolean;
  note(loss: StoreLoss): Promise<void>;
};

/** Throws `unavailable` for a database that is newer, foreign or not writable, `storage_full` when there is no room. */
export async function openSqliteStore({ path, clock, log, owner, losses }: SqliteStoreOptions): Promise<Store> {
  const problems: string[] = [];
  const putAside = async (reason: string): Promise<void> => {
    const target = await setAside(path, clock.now());
    const problem = `${path} was damaged (${reason}); it was set aside as ${basename(target)} and a new database begun`;
    log.error(problem);
    if (losses === undefined) problems.push(problem);
    await losses?.note({ at: clock.now(), kind: "damaged", reason, set_aside: basename(target) });
  };

  await makeFolder(path);
  const finding = await inspect(path, newestVersion(migrations));
  if (finding.state === "damaged") await putAside(finding.reason);
  if (losses?.expected === true && (finding.state === "absent" || finding.state === "empty")) {
    const kind = finding.state === "absent" ? "missing" : "emptied";
    log.error(`${path} was ${kind === "missing" ? "deleted" : "emptied"}; a new database was begun`);
    await losses.note({ at: clock.now(), kind, reason: null, set_aside: null });
  } else if (finding.state === "empty") log.warn(`${path} is empty: a new database begins in it`);
  const start = async (): Promise<Store> => {
    if (owner !== undefined && (await fileSize(path)) === 0) await beginDatabase(path, owner);
    return SqliteStore.open(path, log, problems);
  };
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    problems.length = 0;
    await putAside(error.message);
    return start();
  }
}

class SqliteStore implements Store {
  readonly read: StoreReads;
  readonly #path: string;
  readonly #log: Logger;
  readonly #problems: string[];
  readonly #reader: Connection;
  readonly #connection: Connection;
  readonly #writer: SqliteWriter;
  readonly #room: LogRoom;
  readonly #scrub = () => this.#room.scrub();
  readonly #listeners: Listeners;
  #closing: Promise<void> | null = null;

  static async open(path: string, log: Logger, problems: string[]): Promise<SqliteStore> {
    await makeFile(path);
    using undo = new DisposableStack();
    const onDamage = createDamageReport(path, log, problems);
    const connection = new Connection(path, { onDamage });
    undo.defer(() => connection.close());
    prepare(connection);
    migrate(connection, migrations);
    const reader = new Connection(path, { readOnly: true, onDamage });
    undo.defer(() => reader.close());
    const store = new SqliteStore(path, log, problems, connection, reader);
    undo.move();
    return store;
  }

  private constructor(path: string, log: Logger, problems: string[], connection: Connection, reader: Connection) {
    this.#path = path;
    this.#log = log;
    this.#problems = problems;
    this.#connection = connection;
    this.#reader = reader;
    this.read = createReads(reader);
    this.#room = new LogRoom({ connection, log, pages: logPages });
    this.#listeners = new Listeners(log);
    const publish = (events: readonly Event[]) => this.#listeners.publish(events);
    this.#writer = new SqliteWriter({ connection, publish, committed: () => this.#room.committed(), log });
  }

  transact<T>(unit: (tx: StoreTx) => Promise<T>): Promise<T> {
    return this.#writer.submit((sql) => unit(createTables(sql, { scrub: this.#scrub })));
  }

  onCommit(...listener: Parameters<Store["onCommit"]>): () => void {
    return this.#listeners.add(...listener);
  }

  async health(): Promise<StoreHealth> {
    const schema = newestVersion(migrations);
    const problems = [...this.#problems];
    let writable = true;
    try {
      // The version it already has: changes nothing, yet goes through the log and its fsync like any commit.
      await this.#writer.submit(async (sql) => void sql.run(`PRAGMA user_version = ${schema}`));
    } catch (error) {
      writable = false;
      problems.push(errorText(error));
    }
    const sizes = await Promise.all([fileSize(this.#path), fileSize(`${this.#path}-wal`)]);
    return { path: this.#path, bytes: sizes[0] + sizes[1], schema, writable, problems };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writer.close();
    this.#listeners.clear();
    // The last to close moves the log into the database, which only the writing connection can.
    this.#reader.close();
    try {
      this.#connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (error) {
      // Nothing is lost: the log stays and is read at the next start.
      this.#log.warn("the store was closed with its log still to be moved", { error: errorText(error) });
    }
    this.#connection.close();
  }
}

/** Bytes the log keeps on disk between checkpoints after a burst made it larger. */
const logBytesKept = 64 * 1024 * 1024;
/** Pages in the log before they are moved. A commit writes four to seven: with fewer, moving them shows in every rate. */
const logPages = 2_000;

function prepare(connection: Connection): void {
  const mode = connection.get<{ journal_mode: string }>("PRAGMA journal_mode = WAL")?.journal_mode;
  if (mode !== "wal")
    throw new AegisError("unavailable", `${connection.path} is on a file system without shared memory (${mode})`, {
      hint: "put the project on a local disk",
    });
  // FULL: what a caller was told is stored survives a power cut. Savepoints need no files with temp_store in memory.
  connection.exec("PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
  // A row that is redacted must not leave its old text in a free part of the file.
  connection.exec("PRAGMA secure_delete = ON");
  connection.exec(`PRAGMA journal_size_limit = ${logBytesKept}; PRAGMA wal_autocheckpoint = ${logPages}`);
}

/** Says it once, and marks the file so that the next start checks all of it. */
function createDamageReport(path: string, log: Logger, problems: string[]): (error: DamageError) => void {
  let reported = false;
  return (error) => {
    if (reported) return;
    reported = true;
    problems.push(error.message);
    log.error(error.message, { hint: error.hint });
    try {
      writeFileSync(suspectMark(path), `${error.message}\n`);
    } catch (failure) {
      log.warn("the damaged database could not be marked", { error: errorText(failure) });
    }
  };
}

async function makeFolder(path: string): Promise<void> {
  try {
    await makePrivateDir(dirname(path));
  } catch (error) {
    throw storeError(error, path);
  }
}

/** SQLite gives its side files the mode of the database file. */
async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, "a", 0o600)).close();
  } catch (error) {
    throw storeError(error, path);
  }
}

async function fileSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}

/** Returns the new name of the database file. Its log gets the matching name that SQLite expects. */
async function setAside(path: string, now: number): Promise<string> {
  const target = freeName(`${path}.corrupt-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, "")}`);
  try {
    for (const suffix of ["", ...sideFiles])
      if (existsSync(path + suffix)) await rename(path + suffix, target + suffix);
    await rm(suspectMark(path), { force: true });
  } catch (error) {
    throw storeError(error, path);
  }
  return target;
}

function freeName(wanted: string): string {
  const taken = (name: string) => ["", ...sideFiles].some((suffix) => existsSync(name + suffix));
  let name = wanted;
  for (let n = 2; taken(name); n++) name = `${wanted}-${n}`;
  return name;
}
