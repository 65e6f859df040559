import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection, type Sql } from "../../src/store/sqlite/connection.ts";
import { SqliteEvents } from "../../src/store/sqlite/events.ts";
import { type Migration, migrate, schemaVersion } from "../../src/store/sqlite/migrate.ts";
import { migrations } from "../../src/store/sqlite/migrations/list.ts";
import { message } from "../helpers/rows.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { addSession, storeSuite } from "../suites/store-suite.ts";
import { openStore } from "./open-store.ts";

storeSuite("sqlite", async () => {
  const { store } = await openStore(join(await tempDir(), "aegis.db"));
  return { store, dispose: () => store.close() };
});

describe("the database file", () => {
  it("is private, flushed on every commit, and alone once the store is closed", async () => {
    const dir = join(await tempDir(), "made", "for-it");
    const { store } = await openStore(join(dir, "aegis.db"));
    await addSession(store);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    for (const file of await readdir(dir)) expect((await stat(join(dir, file))).mode & 0o777).toBe(0o600);
    await store.close();
    expect(await readdir(dir)).toEqual(["aegis.db"]);
  });

  it("counts its log in what it weighs", async () => {
    const { store } = await openStore(join(await tempDir(), "aegis.db"));
    const before = (await store.health()).bytes;
    const { id } = await addSession(store);
    await store.transact((tx) => tx.messages.insert(message(id, { body: "x".repeat(500_000) })));
    expect((await store.health()).bytes).toBeGreaterThan(before + 500_000);
  });

  it("waits for another process that writes, and says so when it takes too long", async () => {
    const path = join(await tempDir(), "aegis.db");
    const { store } = await openStore(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(addSession(store)).rejects.toMatchObject({
      code: "unavailable",
      message: /locked by another process/,
    });
    other.exec("ROLLBACK");
    other.close();
    await addSession(store);
  });
});

describe("events", () => {
  it.each(["queue", "run", "schedule"])("of a %s are found by an index, which holds nothing else", async (noun) => {
    const connection = new Connection(join(await tempDir(), "aegis.db"));
    onTestFinished(() => connection.close());
    migrate(connection, migrations);
    const plans: string[] = [];
    const explain: Sql = {
      get: () => undefined,
      all(text, ...values) {
        plans.push(
          ...connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values).map((row) => row.detail),
        );
        return [];
      },
      run: () => ({ changes: 0, rowid: 0 }),
    };
    const events = new SqliteEvents(explain, []);
    await events.list({ [noun]: "x", limit: 1 });
    await events.list({ [noun]: "x", after: 3, limit: 1, from: "newest" });
    expect(plans).toEqual([
      `SEARCH events USING INDEX events_by_${noun} (<expr>=?)`,
      `SEARCH events USING INDEX events_by_${noun} (<expr>=? AND seq>?)`,
    ]);
    const index = connection.get<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE name = ?", `events_by_${noun}`);
    expect(index?.sql).toContain("IS NOT NULL");
  });
});

describe("migrations", () => {
  it("are numbered from one without gaps", () => {
    expect(migrations.map((migration) => migration.version)).toEqual(migrations.map((_, index) => index + 1));
  });

  it.each(migrations.map((_, index) => index))("bring a database of schema %i to the newest", async (version) => {
    const path = join(await tempDir(), "aegis.db");
    const old = new Connection(path);
    old.exec("PRAGMA journal_mode = WAL");
    migrate(old, migrations.slice(0, version));
    expect(schemaVersion(old)).toBe(version);
    old.close();
    const { store, said } = await openStore(path);
    const row = await addSession(store);
    expect(await store.read.sessions.list()).toEqual([row]);
    expect(await store.health()).toMatchObject({ schema: migrations.length, problems: [] });
    expect(said).toEqual([]);
  });

  it("run each once, keep the data, and leave a failed step undone", async () => {
    const connection = new Connection(join(await tempDir(), "aegis.db"));
    const first: Migration = { version: 1, sql: "CREATE TABLE a (x INTEGER) STRICT" };
    const second: Migration = { version: 2, sql: "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7" };
    const broken: Migration = { version: 3, sql: "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO missing VALUES (1)" };
    migrate(connection, [first]);
    connection.run("INSERT INTO a VALUES (1)");
    migrate(connection, [first, second]);
    migrate(connection, [first, second]);
    expect(() => migrate(connection, [first, second, broken])).toThrow("missing");
    expect(schemaVersion(connection)).toBe(2);
    expect(connection.get<object>("SELECT x, y FROM a")).toMatchObject({ x: 1, y: 7 });
    expect(connection.get("SELECT name FROM sqlite_schema WHERE name = 'b'")).toBeUndefined();
    connection.close();
  });
});
