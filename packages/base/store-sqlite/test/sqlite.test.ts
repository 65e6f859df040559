import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AskId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { ReadSql } from "@aegis/store/sql/sql.ts";
import type { StoreReads } from "@aegis/store/store.ts";
import { EventReads } from "@aegis/store/tables/events.ts";
import { message } from "@aegis/test/helpers/rows.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { addSession, storeSuite } from "@aegis/test/suites/store-suite.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openStore } from "../../store/test/open-store.ts";
import { Connection } from "../src/connection.ts";
import { type Migration, migrate, newestVersion, schemaVersion } from "../src/migrate.ts";
import { migrations } from "../src/migrations/list.ts";

/** Every statement that the suite uses: the plans of all of them are checked at the end. */
const prepared = new Set<string>();
const prepare = DatabaseSync.prototype.prepare;
vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, text, ...rest) {
  prepared.add(text);
  return prepare.call(this, text, ...rest);
});

storeSuite(
  "sqlite",
  async () => {
    const { store } = await openStore(join(await tempDir(), "aegis.db"));
    return { store, dispose: () => store.close() };
  },
  { writers: "one" },
);

describe("the statements of the suite", () => {
  /** Few rows (pooled agents are reused), or rows of the statement itself. */
  const small =
    /^SCAN (pool|clients|queues|schedules|nodes|CONSTANT ROW|json_each|below|members|work|given|used|unseen|spent|started)\b/;
  /** A partial index holds what is open. */
  const partial = /USING (COVERING )?INDEX (\w+)/;
  /** What a person asks for by name, or page by page from one end. */
  const asked = [
    / FROM (events|firings|runs|tasks|subagents) (WHERE .*)?ORDER BY (seq|position) (ASC|DESC) LIMIT \?/,
    / FROM (sessions|tasks) (WHERE closed_at IS NOT NULL )?ORDER BY position DESC$/,
    /^WITH fired AS/,
    // Ended tasks are counted for each queue.
    /^SELECT queue, status, count/,
    /^SELECT DISTINCT schedule FROM firings/,
  ];

  it("read open things by what is open, and no table from end to end", async () => {
    const connection = new Connection(join(await tempDir(), "aegis.db"));
    onTestFinished(() => connection.close());
    migrate(connection, migrations);
    const isPartial = (index: string) =>
      connection.get("SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '% WHERE %'", index) !== undefined;
    const scans = [...prepared]
      .map((text) => text.replace(/\s+/g, " ").trim())
      .filter((text) => /^(SELECT|WITH)\b/.test(text) && !/pragma|sqlite_/i.test(text))
      .filter((text) => !asked.some((pattern) => pattern.test(text)))
      .flatMap((text) => scansOf(connection, text).map((scan) => `${scan}: ${text}`))
      .filter((scan) => !small.test(scan) && !isPartial(partial.exec(scan)?.[2] ?? ""));
    expect(prepared.size).toBeGreaterThan(200);
    expect(scans).toEqual([]);
  });
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

  it("waits for another process that writes, and says so when it takes too long", { tags: "slow" }, async () => {
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
    const explain: ReadSql = {
      dialect: connection.dialect,
      node: null,
      get: () => undefined,
      all(text, ...values) {
        plans.push(
          ...connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values).map((row) => row.detail),
        );
        return [];
      },
    };
    const events = new EventReads(explain);
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
  it("have rising numbers", () => {
    const versions = migrations.map((migration) => migration.version);
    expect(versions[0]).toBe(1);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  it.each(migrations.map((_, index) => index))("bring a database of schema %i to the newest", async (version) => {
    const path = join(await tempDir(), "aegis.db");
    const old = new Connection(path);
    old.exec("PRAGMA journal_mode = WAL");
    migrate(old, migrations.slice(0, version));
    expect(schemaVersion(old)).toBe(newestVersion(migrations.slice(0, version)));
    old.close();
    const { store, said } = await openStore(path);
    const row = await addSession(store);
    expect(await store.read.sessions.list()).toEqual([row]);
    expect(await store.health()).toMatchObject({ schema: newestVersion(migrations), problems: [] });
    expect(said).toEqual([]);
  });

  it("take the prompt of a turn that an earlier version left in progress as possibly handed over", async () => {
    const path = join(await tempDir(), "aegis.db");
    const old = new Connection(path);
    old.exec("PRAGMA journal_mode = WAL");
    migrate(old, migrations.slice(0, 13));
    const session = "id, handle, agent, harness, offline, title, state, depth, ask_policy, created_at, resume";
    old.run(
      `INSERT INTO sessions (${session}) VALUES ('ses_1', 'a', 'a', 'h', 1, '', 'ready', 0, 'wait', 1, 'vendor-1')`,
    );
    const insert =
      "INSERT INTO turns (id, session, started_at, ended_at, text, accepted) VALUES (?, 'ses_1', 1, ?, '', 0)";
    old.run(insert, "trn_over", 2);
    old.run(insert, "trn_open", null);
    old.close();
    const { store } = await openStore(path);
    const [open, over] = await store.read.turns.list("ses_1" as SessionId, 2);
    expect(over?.handed_over).toEqual([]);
    expect(open?.handed_over).toEqual([{ turn: "trn_open", key: "", print: "", conversation: "vendor-1" }]);
  });

  it("know the tree of subagents that an earlier version started", async () => {
    const path = join(await tempDir(), "aegis.db");
    const old = new Connection(path);
    old.exec("PRAGMA journal_mode = WAL");
    migrate(old, migrations.slice(0, 10));
    for (const [id, depth] of [
      ["ses_top", 0],
      ["ses_child", 1],
      ["ses_below", 2],
      ["ses_peer", 1],
    ] as const) {
      const columns = "id, handle, agent, harness, offline, title, state, depth, ask_policy, created_at";
      old.run(`INSERT INTO sessions (${columns}) VALUES (?, ?, 'a', 'h', 1, '', 'ready', ?, 'wait', 1)`, id, id, depth);
    }
    for (const [run, session, parent] of [
      ["1", "ses_child", "ses_top"],
      ["2", "ses_below", "ses_child"],
    ] as const) {
      const columns = "run_id, session, parent, root, depth, agent, label, cleanup, status, timeout, deadline";
      const values = "?, ?, ?, 'ses_top', 1, 'a', ?, 'keep', 'running', 1, 1";
      old.run(
        `INSERT INTO subagents (${columns}, created_at, hops, task) VALUES (${values}, 1, 0, '')`,
        ...[run, session, parent, run],
      );
    }
    old.close();
    const { store } = await openStore(path);
    const { read } = store;
    expect(await read.sessions.get("ses_below" as SessionId)).toMatchObject({
      started_by: "ses_child",
      root: "ses_top",
    });
    expect(await read.sessions.get("ses_peer" as SessionId)).toMatchObject({ started_by: null, root: null });
    expect(await read.subagents.totals("ses_top" as SessionId, 0)).toEqual({ live: 2, spawned: 2, recent: 2 });
    expect(await read.subagents.children("ses_child" as SessionId)).toBe(1);
  });

  it("keep the asks of a database that knew less of them", async () => {
    const path = join(await tempDir(), "aegis.db");
    const old = new Connection(path);
    old.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF");
    migrate(
      old,
      migrations.filter(({ version }) => version <= 10),
    );
    insertFilled(old, "sessions", { id: "ses_1", handle: "old-one", state: "working" });
    const asked = {
      id: "ask_1",
      session: "ses_1",
      kind: "permission",
      question: "rm?",
      tool: "bash",
      digest: "0123456789abcdef",
    };
    const open = {
      ...asked,
      detail: '{"command":"rm"}',
      options: '["allow","deny"]',
      status: "open",
      answer: null,
      choice: null,
    };
    insertFilled(old, "asks", { ...open, used: 0, created_at: 1, expires_at: 2, settled_at: null });
    old.close();
    const { store } = await openStore(path);
    expect(await store.read.asks.get("ask_1" as AskId)).toEqual({
      ...asked,
      detail: { command: "rm" },
      options: ["allow", "deny"],
      status: "open",
      answer: null,
      reason: null,
      gate: false,
      changes: [],
      cwd: null,
      origin: null,
      omitted: 0,
      created_at: 1,
      expires_at: 2,
      settled_at: null,
      settled_by: null,
      settled_reason: null,
    });
  });

  it("run each once, keep the data, and leave all steps undone when one fails", async () => {
    const connection = new Connection(join(await tempDir(), "aegis.db"));
    const first: Migration = { version: 1, sql: "CREATE TABLE a (x INTEGER) STRICT" };
    const second: Migration = { version: 2, sql: "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7" };
    const third: Migration = { version: 3, sql: "CREATE TABLE c (x INTEGER) STRICT" };
    const broken: Migration = { version: 4, sql: "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO missing VALUES (1)" };
    migrate(connection, [first]);
    connection.run("INSERT INTO a VALUES (1)");
    migrate(connection, [first, second]);
    migrate(connection, [first, second]);
    expect(() => migrate(connection, [first, second, third, broken])).toThrow("missing");
    expect(schemaVersion(connection)).toBe(2);
    expect(connection.get<object>("SELECT x, y FROM a")).toMatchObject({ x: 1, y: 7 });
    expect(connection.get("SELECT name FROM sqlite_schema WHERE name IN ('b', 'c')")).toBeUndefined();
    connection.close();
  });
});

/** A row with a value in every column that needs one. */
function insertFilled(connection: Connection, table: string, row: Record<string, string | number | null>): void {
  const needed = connection
    .all<{ name: string; type: string; notnull: number; dflt_value: string | null }>(`PRAGMA table_info(${table})`)
    .filter(({ name, notnull, dflt_value }) => notnull === 1 && dflt_value === null && !(name in row))
    .map(({ name, type }) => [name, type === "INTEGER" ? 0 : ""] as const);
  const filled = { ...Object.fromEntries(needed), ...row };
  const names = Object.keys(filled);
  connection.run(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    ...Object.values(filled),
  );
}

it("a database of an earlier version keeps the sums of its turns", async () => {
  const path = join(await tempDir(), "aegis.db");
  const connection = new Connection(path);
  migrate(
    connection,
    migrations.filter(({ version }) => version <= 25),
  );
  connection.exec(`
    INSERT INTO sessions (id, handle, agent, harness, offline, title, state, depth, ask_policy, created_at)
      VALUES ('ses_1', 'lucid-hertz', 'dev', 'scripted', 0, '', 'ready', 0, 'wait', 1);
    INSERT INTO turns (id, session, started_at, accepted, ended_at, reason, usage, text) VALUES
      ('trn_1', 'ses_1', 1, 1, 2, 'completed', '{"input":1,"cost":0.5}', ''),
      ('trn_2', 'ses_1', 3, 1, 4, 'completed', '{"input":2,"cost":null}', ''),
      ('trn_3', 'ses_1', 5, 1, NULL, NULL, '{"input":4,"cost":0.25}', ''),
      ('trn_4', 'ses_1', 6, 1, 7, 'failed', NULL, '')`);
  connection.close();
  const { store } = await openStore(path);
  const sums = { turns: 3, input: 7, cost: 0.75, cost_unknown: 1 };
  expect(await store.read.turns.usage("ses_1" as SessionId)).toMatchObject(sums);
  const end = { at: 9, reason: "completed", error: null, text: "", seq: 1 } as const;
  const usage = { input: 5, cache_read: 0, cache_write: 0, output: 0, cost: 0.25 };
  await store.transact((tx) => tx.turns.end("trn_3" as TurnId, { ...end, usage }));
  expect(await store.read.turns.usage()).toMatchObject({ ...sums, input: 8 });
});

describe("what a list of sessions shows of each session", () => {
  it.each([
    ["the usage of open sessions", (read: StoreReads) => read.turns.usage()],
    ["the usage of one", (read: StoreReads, id: SessionId) => read.turns.usage(id)],
    ["the last turn", (read: StoreReads, id: SessionId) => read.turns.list(id, 1)],
    ["unseen turns", (read: StoreReads, id: SessionId) => read.turns.countEndedAfter(id, 0)],
    [
      "its context",
      (read: StoreReads, session: SessionId) => read.events.list({ session, types: ["turn.context"], limit: 1 }),
    ],
    [
      "its changes",
      (read: StoreReads, session: SessionId) => read.events.list({ session, types: ["changes.recorded"], limit: 1 }),
    ],
  ])("%s does not read its history", async (_, reads) => {
    const path = join(await tempDir(), "aegis.db");
    const { store } = await openStore(path);
    const { id } = await addSession(store);
    prepared.clear();
    await reads(store.read, id);
    const connection = new Connection(path);
    onTestFinished(() => connection.close());
    const plans = [...prepared].flatMap((text) =>
      connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`).map((row) => `${row.detail}: ${text}`),
    );
    expect(plans.length).toBeGreaterThan(0);
    const history =
      /(turns_by_session|events_by_session|messages_by_session|SCAN (turns|events|messages))(?!.* LIMIT)/s;
    expect(plans.filter((plan) => history.test(plan) || /events_by_session/.test(plan))).toEqual([]);
  });
});

function scansOf(connection: Connection, text: string): string[] {
  const plan = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`).map((row) => row.detail);
  return plan.filter((detail) => /^SCAN /.test(detail));
}
