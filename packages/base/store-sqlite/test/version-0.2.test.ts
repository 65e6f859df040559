/**
 * A database of version 0.2. The fixture is a dump of one that version 0.2.0 made: its schema, and a session that a person
 * talked to over Telegram, which was a kind of sender of its own.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it, onTestFinished } from "vitest";
import { openStore } from "../../store/test/open-store.ts";
import { Connection } from "../src/connection.ts";
import { migrate } from "../src/migrate.ts";
import { migrations } from "../src/migrations/list.ts";

const dump = readFileSync(new URL("fixtures/version-0.2.sql", import.meta.url), "utf8");

/** What the schema has more than in version 0.2. Nothing else of it may differ. */
const added = [
  "index events_changes",
  "index events_context",
  "index messages_undelivered",
  "index pool_held",
  "index sessions_closed",
  "index sessions_open",
  "index subagents_shown",
  "index turns_open_of",
  "table session_usage",
  "trigger turns_spent",
];

/** Columns as SQLite adds them to the text of a table. */
const addedColumns = [["table landings", ", message TEXT"]] as const;

function schemaOf(connection: Connection): Map<string, string | null> {
  type Row = { type: string; name: string; sql: string | null };
  const rows = connection.all<Row>("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name");
  return new Map(rows.map(({ type, name, sql }) => [`${type} ${name}`, sql]));
}

function opened(path: string): Connection {
  const connection = new Connection(path);
  onTestFinished(() => connection.close());
  return connection;
}

it("has the schema that a new database has, which differs from that of 0.2 only in what was added", () => {
  const [fresh, old] = [opened(":memory:"), opened(":memory:")];
  migrate(fresh, migrations);
  old.exec(dump);
  const [now, before] = [schemaOf(fresh), schemaOf(old)];
  expect([...now.keys()].filter((name) => !before.has(name)).sort()).toEqual(added);
  for (const name of added) now.delete(name);
  for (const [name, column] of addedColumns) now.set(name, now.get(name)?.replace(column, "") ?? null);
  expect(now).toEqual(before);
  migrate(old, migrations);
  expect(schemaOf(old)).toEqual(schemaOf(fresh));
});

it("opens and shows what came over Telegram as messages of the channel telegram", async () => {
  const path = join(await tempDir(), "aegis.db");
  const old = new Connection(path);
  old.exec(dump);
  old.close();
  const { store } = await openStore(path);
  const [session] = await store.read.sessions.list({});
  if (session === undefined) throw new Error("the fixture has a session");
  const telegram = { kind: "channel", name: "telegram" };
  const said = { body: 'what does {"kind":"telegram"} mean?', sender: telegram, status: "done" };
  const typed = { body: "hello from the terminal", sender: { kind: "human" }, status: "done" };
  expect(await store.read.messages.list(session.id)).toMatchObject([said, typed]);
  // The input of a tool is the agent's own and stays as it is.
  const ask = { detail: { kind: "telegram" }, origin: { senders: [telegram, { kind: "human" }] } };
  expect(await store.read.asks.list({ limit: 5 })).toMatchObject([ask]);
  const query = { session: session.id, limit: 10 };
  const events = [
    { type: "message.admitted", data: { message: { sender: telegram, body: said.body } } },
    { type: "message.admitted", data: { message: { sender: typed.sender } } },
    { type: "ask.opened", data: { ask } },
  ];
  expect(await store.read.events.list(query)).toMatchObject(events);
  expect((await store.read.events.texts(query)).map(({ json }) => JSON.parse(json))).toMatchObject(events);
  expect(await store.read.channels.peers("telegram")).toMatchObject([{ peer: "7", name: "Ada" }]);
});
