/** Room made in the write-ahead log ahead of its use: when, how much, and that nothing of it is ever read. */
import { copyFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentLogger } from "@aegis/lib/log.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it, onTestFinished } from "vitest";
import { Connection } from "../src/connection.ts";
import { LogRoom } from "../src/log-room.ts";

const pages = 200;
const roomBytes = pages * 4_096;

type Setup = { path: string; connection: Connection; room: LogRoom; insert(rows: number): void };

async function setUp(wanted = pages): Promise<Setup> {
  const path = join(await tempDir(), "aegis.db");
  const connection = new Connection(path);
  onTestFinished(() => connection.close());
  connection.exec("PRAGMA journal_mode = WAL; CREATE TABLE rows (n INTEGER); PRAGMA wal_checkpoint(TRUNCATE)");
  const room = new LogRoom({ connection, log: silentLogger, pages: wanted });
  let last = 0;
  const insert = (rows: number) => {
    for (let n = 0; n < rows; n++) {
      last += 1;
      connection.run("INSERT INTO rows VALUES (?)", last);
      room.committed();
    }
  };
  return { path, connection, room, insert };
}

async function logBytes(path: string): Promise<number> {
  return (await stat(`${path}-wal`)).size;
}

/** What somebody finds who opens the files as a killed process leaves them. */
async function afterKill(path: string): Promise<{ rows: number; tables: unknown[]; check: unknown }> {
  const copy = join(await tempDir(), "copy.db");
  await copyFile(path, copy);
  await copyFile(`${path}-wal`, `${copy}-wal`);
  const database = new DatabaseSync(copy);
  try {
    return {
      rows: Number(database.prepare("SELECT count(*) AS n FROM rows").get()?.n),
      tables: database
        .prepare("SELECT name FROM sqlite_schema")
        .all()
        .map((row) => row.name),
      check: database.prepare("PRAGMA integrity_check").get()?.integrity_check,
    };
  } finally {
    database.close();
  }
}

it("is made once, by a store that has written for a while", async () => {
  const { path, connection, insert } = await setUp();
  insert(63);
  const grown = await logBytes(path);
  expect(grown).toBeLessThan(roomBytes);
  insert(1);
  const made = await logBytes(path);
  expect(made).toBeGreaterThan(grown + 0.9 * roomBytes);
  expect(connection.get("PRAGMA cache_size")).toEqual({ cache_size: -2000 });
  insert(100);
  expect(await logBytes(path)).toBe(made);
});

it.each([64, 65, 100])(
  "leaves nothing behind that a start after a kill would read, after %i commits",
  async (commits) => {
    const { path, insert } = await setUp();
    insert(commits);
    expect(await afterKill(path)).toEqual({ rows: commits, tables: ["rows"], check: "ok" });
  },
);

it("is not made where it would take much of what the disk has left", async () => {
  const { path, insert } = await setUp(1e12);
  insert(64);
  expect(await logBytes(path)).toBeLessThan(roomBytes);
  insert(10);
  expect((await afterKill(path)).rows).toBe(74);
});
