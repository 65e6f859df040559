/**
 * Room in the write-ahead log before it is needed. A commit that lengthens the file makes the file system write its own
 * journal with every fsync, which costs about as much again; one that overwrites what is there does not. After a
 * checkpoint the log is written from its beginning anyway, so room is made once: up to the size it would grow to.
 */
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Connection } from "./connection.ts";

export type LogRoomOptions = {
  connection: Connection;
  log: Logger;
  /** How long the log becomes before a checkpoint. */
  pages: number;
};

/** By then it has cost about as much to lengthen the log as it costs to make room. A store that writes little never pays. */
const commitsBefore = 64;
/** A disk with less free than so many times the room is left alone. */
const leastFreeTimes = 16;
const pageBytes = 4_096;
/** A transaction that needs more pages than this puts them into the log before it ends. */
const fewPages = 16;

export class LogRoom {
  readonly #options: LogRoomOptions;
  #commits = 0;

  constructor(options: LogRoomOptions) {
    this.#options = options;
  }

  /** To be called between transactions. */
  committed(): void {
    this.#commits += 1;
    if (this.#commits === commitsBefore) this.#make();
  }

  #make(): void {
    const { connection, log, pages } = this.#options;
    try {
      if (this.#isThere() || !this.#fits()) return;
      const before = connection.get<{ cache_size: number }>("PRAGMA cache_size")?.cache_size ?? 0;
      connection.exec(`PRAGMA cache_size = ${fewPages}`);
      try {
        // What was never committed stays in the file behind the log's end, where the next commits overwrite it.
        connection.exec("BEGIN IMMEDIATE; CREATE TABLE room (bytes BLOB)");
        connection.exec(`INSERT INTO room VALUES (zeroblob(${pages * pageBytes}))`);
      } finally {
        if (connection.inTransaction) connection.exec("ROLLBACK");
        connection.exec(`PRAGMA cache_size = ${before}`);
      }
    } catch (error) {
      log.warn("no room was made in the store's log: commits take longer", { error: errorText(error) });
    }
  }

  #isThere(): boolean {
    const { connection, pages } = this.#options;
    return statSync(`${connection.path}-wal`).size >= pages * pageBytes;
  }

  #fits(): boolean {
    const { connection, pages } = this.#options;
    const { bavail, bsize } = statfsSync(dirname(connection.path));
    return bavail * bsize >= leastFreeTimes * pages * pageBytes;
  }
}
