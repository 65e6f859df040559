/**
 * Preallocates the write-ahead log. A commit that extends the file makes the file system write its own journal with
 * every fsync, which about doubles the cost; a commit that overwrites existing space does not. After a checkpoint,
 * SQLite writes the log from its start again, so the space is allocated once, up to the size that the log would reach.
 */
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Connection } from "./connection.ts";

export type LogRoomOptions = {
  connection: Connection;
  log: Logger;
  /** The length of the log at a checkpoint. */
  pages: number;
};

/**
 * After this many commits, extending the log has cost about as much as preallocation. A store with few writes never
 * pays.
 */
const commitsBefore = 64;
/** No preallocation if the free disk space is less than this multiple of it. */
const leastFreeTimes = 16;
const pageBytes = 4_096;
/** A transaction that needs more pages writes them to the log before it ends. */
const fewPages = 16;

export class LogRoom {
  readonly #options: LogRoomOptions;
  #commits = 0;
  #mustEmpty = false;

  constructor(options: LogRoomOptions) {
    this.#options = options;
  }

  /** Call this between transactions. */
  committed(): void {
    if (this.#mustEmpty) this.#empty();
    this.#commits += 1;
    if (this.#commits === commitsBefore) this.#make();
  }

  /** A row was redacted, so the earlier text must be removed from the log after the commit. */
  scrub(): void {
    this.#mustEmpty = true;
  }

  #empty(): void {
    const { connection, log } = this.#options;
    try {
      // Does not wait for another process that is reading the database; the next commit tries again.
      const before = connection.get<{ timeout: number }>("PRAGMA busy_timeout")?.timeout ?? 0;
      connection.exec("PRAGMA busy_timeout = 0");
      try {
        const moved = connection.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)");
        this.#mustEmpty = moved?.busy !== 0;
      } finally {
        connection.exec(`PRAGMA busy_timeout = ${before}`);
      }
      this.#commits = 0;
    } catch (error) {
      log.warn("the store's log could not be emptied of redacted text yet", { error: errorText(error) });
    }
  }

  #make(): void {
    const { connection, log, pages } = this.#options;
    try {
      if (this.#isThere() || !this.#fits()) return;
      const before = connection.get<{ cache_size: number }>("PRAGMA cache_size")?.cache_size ?? 0;
      connection.exec(`PRAGMA cache_size = ${fewPages}`);
      try {
        // Uncommitted data stays in the file after the log's end, where later commits overwrite it.
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
