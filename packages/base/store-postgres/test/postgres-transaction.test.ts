/** Which statements a transaction sends so that each of its units can be undone alone. */
import type { Client, QueryResult } from "pg";
import { expect, it } from "vitest";
import { Statements } from "../src/statements.ts";
import { Transaction } from "../src/transaction.ts";

const notice = { type: "session.notice", session: null, at: 1, data: {} } as never;

function setUp() {
  const sent: string[] = [];
  const query = (statement: string | { text: string; values: unknown[] }) => {
    if (typeof statement === "string") sent.push(statement);
    else sent.push(`${statement.text.split(" ")[0]} ${statement.values.join()}`);
    return Promise.resolve({ rows: [], rowCount: 1 } as unknown as QueryResult);
  };
  const transaction = new Transaction({
    client: { query } as unknown as Client,
    statements: new Statements(),
    id: "1",
    seq: 4,
    node: null,
    timeline: null,
  });
  /** Inserts a row in a new unit. */
  const insert = (id: string) => {
    transaction.enterUnit(false);
    transaction.send("INSERT INTO notes (id) VALUES (?)", [id]);
  };
  return { transaction, sent, insert };
}

it("sets a savepoint before each unit that follows one that wrote", () => {
  const { transaction, sent, insert } = setUp();
  for (const id of ["a", "b", "c"]) {
    insert(id);
    transaction.keep(true);
  }
  expect(sent).toEqual([
    "INSERT a",
    ...["SAVEPOINT unit", "INSERT b"],
    ...["RELEASE unit; SAVEPOINT unit", "INSERT c"],
  ]);
});

it("uses the savepoint again of a unit that wrote nothing or was undone", () => {
  const { transaction, sent, insert } = setUp();
  insert("a");
  transaction.keep(true);
  transaction.enterUnit(false);
  transaction.keep(false);
  insert("b");
  transaction.forget(true);
  insert("c");
  expect(sent).toEqual(["INSERT a", "SAVEPOINT unit", "INSERT b", "INSERT c"]);
});

it("numbers events without the ones of undone units, and stores events again that it undid", () => {
  const { transaction, sent } = setUp();
  expect(transaction.append(notice, "a").seq).toBe(5);
  transaction.keep(false);
  expect(transaction.append(notice, "b").seq).toBe(6);
  transaction.forget(false);
  transaction.storeEvents();
  transaction.append(notice, "c");
  transaction.forget(true);
  expect(transaction.append(notice, "d").seq).toBe(6);
  transaction.keep(false);
  transaction.storeEvents();
  const numbers = sent.map((text) => /^INSERT ([\d,]*),1,/.exec(text)?.[1]?.split(",").slice(0, 2));
  expect(numbers).toEqual([["5"], ["5", "6"]]);
  expect(sent[1]).toContain("a,d");
});
