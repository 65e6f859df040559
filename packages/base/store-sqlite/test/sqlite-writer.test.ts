/** Group commit: what shares a transaction, and what happens to the others when one unit breaks it. */
import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it, onTestFinished } from "vitest";
import { Connection } from "../src/connection.ts";
import { migrate } from "../src/migrate.ts";
import { migrations } from "../src/migrations/list.ts";
import type { SqliteUnit } from "../src/unit.ts";
import { SqliteWriter } from "../src/writer.ts";

type Setup = { connection: Connection; writer: SqliteWriter; ats(): number[] };

async function setUp(): Promise<Setup> {
  const connection = new Connection(join(await tempDir(), "aegis.db"));
  connection.exec("PRAGMA journal_mode = WAL");
  migrate(connection, migrations);
  const writer = new SqliteWriter({ connection, publish: () => {}, committed: () => {}, log: silentLogger });
  onTestFinished(async () => {
    await writer.close();
    connection.close();
  });
  const ats = () => connection.all<{ at: number }>("SELECT at FROM events ORDER BY seq").map((row) => row.at);
  return { connection, writer, ats };
}

function write(at: number, size = 1) {
  return async (unit: SqliteUnit) => {
    unit.run("INSERT INTO events (at, type, data) VALUES (?, 't', ?)", at, JSON.stringify("x".repeat(size)));
    return at;
  };
}

/** Room for about this many bytes more. */
function limit(connection: Connection, bytes: number): void {
  const pages = connection.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
  connection.exec(`PRAGMA max_page_count = ${pages + Math.ceil(bytes / 4096)}`);
}

function outcomes(results: PromiseSettledResult<number>[]): (number | string)[] {
  return results.map((result) => (result.status === "fulfilled" ? result.value : result.reason.code));
}

it("commits together what arrived together", async () => {
  const { connection, writer } = await setUp();
  const commits = new Set<number>();
  await Promise.all(
    [1, 2, 3, 4].map((at) =>
      writer.submit(async (unit) => {
        await write(at)(unit);
        commits.add(connection.get<{ n: number }>("SELECT count(*) AS n FROM events")?.n ?? 0);
      }),
    ),
  );
  // Each saw the rows of those before it, so no commit lay between them and none was alone.
  expect([...commits]).toEqual([1, 2, 3, 4]);
});

it.each([0, 1, 2])("tells the truth to every unit when there is no room for unit %i", async (large) => {
  const { connection, writer, ats } = await setUp();
  limit(connection, 100_000);
  const units = [0, 1, 2, 3].map((at) => writer.submit(write(at, at === large ? 1_000_000 : 1)));
  const results = await Promise.allSettled(units);
  expect(outcomes(results)[large]).toBe("storage_full");
  // Whether SQLite undoes the statement or the transaction is its choice; what it undid must be reported.
  const confirmed = outcomes(results).filter((outcome) => outcome !== "storage_full");
  expect(ats()).toEqual(confirmed);
  expect(confirmed.length).toBeGreaterThan(0);
  expect(await writer.submit(write(9))).toBe(9);
});

it("does not commit a unit that hid a failed write", async () => {
  const { connection, writer, ats } = await setUp();
  limit(connection, 100_000);
  const hiding = writer.submit(async (unit) => {
    await write(1)(unit);
    await write(2, 1_000_000)(unit).catch(() => {});
    await write(3)(unit).catch(() => {});
    return 0;
  });
  await expect(hiding).rejects.toMatchObject({ code: "storage_full" });
  expect(ats()).toEqual([]);
});

it("fails all units of a commit that fails", async () => {
  const { connection, writer, ats } = await setUp();
  connection.exec(
    "PRAGMA foreign_keys = ON; CREATE TABLE child (x REFERENCES sessions (id) DEFERRABLE INITIALLY DEFERRED)",
  );
  const results = await Promise.allSettled([
    writer.submit(write(1)),
    writer.submit(async (unit) => {
      unit.run("INSERT INTO child VALUES ('nobody')");
      return 2;
    }),
    writer.submit(write(3)),
  ]);
  expect(results.map((result) => result.status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(connection.inTransaction).toBe(false);
  expect(ats()).toEqual([]);
  expect(await writer.submit(write(4))).toBe(4);
  expect(ats()).toEqual([4]);
});

it("splits a flood, so that others get their turn", async () => {
  const { writer, ats } = await setUp();
  let turns = 0;
  let done = false;
  const count = () => {
    turns++;
    if (!done) setImmediate(count);
  };
  const flood = Promise.all(Array.from({ length: 3_500 }, (_, at) => writer.submit(write(at))));
  setImmediate(count);
  await flood;
  done = true;
  expect(turns).toBeGreaterThanOrEqual(3);
  expect(ats()).toHaveLength(3_500);
});
