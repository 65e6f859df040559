/** Which statements a transaction sends so that each of its units can be undone alone. */
import type { Client, QueryResult } from "pg";
import { expect, it } from "vitest";
import { Statements } from "../src/statements.ts";
import { Transaction } from "../src/transaction.ts";

const insert = (id: string) => ["INSERT INTO notes (id) VALUES (?)", [id]] as const;
const read = (id: string) => ["SELECT id FROM notes WHERE id = ?", [id]] as const;

function setUp(isShared = true) {
  const sent: string[] = [];
  const query = (statement: string | { text: string; values: unknown[] }) => {
    if (typeof statement === "string") sent.push(statement);
    else sent.push(`${statement.text.split(" ")[0]} ${statement.values.join()}`);
    return Promise.resolve({ rows: [], rowCount: 1 } as unknown as QueryResult);
  };
  const stream = { cork() {}, uncork() {} };
  const client = { query, connection: { stream } } as unknown as Client;
  const transaction = new Transaction({
    client,
    statements: new Statements(),
    node: null,
    timeline: null,
    isShared,
    mayPresume: false,
  });
  /** One unit that inserts these rows and is kept. */
  const unit = (...ids: string[]) => {
    transaction.protect(true);
    for (const id of ids) transaction.send(...insert(id));
    transaction.keep(true);
  };
  return { transaction, sent, unit };
}

it("sets one savepoint for many units", () => {
  const { unit, sent } = setUp();
  unit("a");
  unit("b");
  unit("c");
  expect(sent).toEqual(["SAVEPOINT unit", "INSERT a", "INSERT b", "INSERT c"]);
});

it("sets none for a unit that is alone", () => {
  const { unit, sent, transaction } = setUp(false);
  unit("a");
  expect(sent).toEqual(["INSERT a"]);
  expect(transaction.hasSavepoint).toBe(false);
});

it("repeats the writes before a unit that it undoes, each of them once", async () => {
  const { unit, sent, transaction } = setUp();
  const undone = async () => {
    transaction.protect(true);
    transaction.send(...insert("failing"));
    sent.length = 0;
    await transaction.undo();
    return sent.splice(0);
  };
  unit("a");
  expect(await undone()).toEqual(["ROLLBACK TO unit", "INSERT a"]);
  unit("b");
  expect(sent).toEqual(["RELEASE unit; SAVEPOINT unit", "INSERT b"]);
  expect(await undone()).toEqual(["ROLLBACK TO unit", "INSERT b"]);
});

it("does not repeat a write whose result a unit has read", async () => {
  const { unit, sent, transaction } = setUp();
  unit("a");
  unit("b");
  transaction.send(...read("x"));
  transaction.keep(false);
  expect(transaction.protect(false)).toBeNull();
  transaction.send(...read("b"));
  transaction.keep(false);
  sent.length = 0;
  transaction.protect(true);
  transaction.send(...insert("c"));
  await transaction.undo();
  expect(sent).toEqual(["RELEASE unit; SAVEPOINT unit", "INSERT c", "ROLLBACK TO unit"]);
});

it("goes back to before an attempt, also inside a unit", async () => {
  const { unit, sent, transaction } = setUp();
  unit("a");
  transaction.send(...insert("b"));
  sent.length = 0;
  const first = transaction.protectAttempt(false);
  transaction.send(...insert("missing"));
  await first.back();
  expect(sent.splice(0)).toEqual(["INSERT missing", "ROLLBACK TO unit", "INSERT a", "INSERT b"]);
  transaction.send(...read("b"));
  const second = transaction.protectAttempt(false);
  transaction.send(...insert("missing"));
  await second.back();
  transaction.protectAttempt(false);
  expect(sent).toEqual([
    ...["SELECT b", "SAVEPOINT attempt", "INSERT missing", "ROLLBACK TO attempt"],
    "RELEASE attempt; SAVEPOINT attempt",
  ]);
});

it("uses an answer that was read early only while nothing before its unit changed it", async () => {
  const { unit, transaction } = setUp();
  const early = transaction.early.ask(...read("b"));
  if (early === null) throw new Error("it must be in its turn");
  unit("a");
  expect(transaction.isCurrent(early)).toBe(true);
  unit("b");
  expect(transaction.isCurrent(early)).toBe(false);
});

it("numbers events without the ones of undone units, and stores events again that it undid", async () => {
  const { sent, transaction } = setUp();
  const notice = { type: "session.notice", session: null, at: 1, data: {} } as never;
  transaction.begun({ id: "1", seq: 4 });
  expect(transaction.append(notice, "a").seq).toBe(5);
  transaction.keep(false);
  expect(transaction.append(notice, "b").seq).toBe(6);
  transaction.forget();
  transaction.protect(false);
  transaction.storeEvents();
  transaction.append(notice, "c");
  await transaction.undo();
  transaction.append(notice, "d");
  transaction.keep(false);
  transaction.storeEvents();
  const inserts = sent.filter((text) => text.startsWith("INSERT"));
  expect(inserts.map((text) => text.split(",").filter((part) => /^(INSERT )?\d$/.test(part))[0])).toEqual([
    "INSERT 5",
    "INSERT 5",
  ]);
  expect(inserts[1]).toContain("a,d");
});
