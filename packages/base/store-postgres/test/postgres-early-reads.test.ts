/** How the first reads of several units are asked, and who gets which answer. */
import type { Client } from "pg";
import { expect, it } from "vitest";
import { EarlyReads } from "../src/early-reads.ts";
import { Statements } from "../src/statements.ts";

const byId = "SELECT id, body FROM messages WHERE id = ?";

/** `answer` gets the text and the values of each statement. */
function setUp(answer: (text: string, values: unknown[]) => Record<string, unknown>[]) {
  const sent: { text: string; values: unknown[] }[] = [];
  const query = async (statement: { text: string; values: unknown[] }) => {
    sent.push(statement);
    return { rows: answer(statement.text, statement.values) };
  };
  return { reads: new EarlyReads(new Statements()), client: { query } as unknown as Client, sent };
}

it("asks reads of one text together, and equal ones once", async () => {
  const { reads, client, sent } = setUp(() => [
    { aegis_place: 2, id: "b", body: "second" },
    { aegis_place: 1, id: "a", body: "first" },
  ]);
  const [a, b, again, missing] = ["a", "b", "a", "c\0"].map((id) => reads.ask(byId, [id]));
  await reads.send(client);
  expect(sent.map(({ values }) => values)).toEqual([[["a", "b", "c\u24000"]]]);
  expect(sent[0]?.text).toContain("(SELECT id, body FROM messages WHERE id = asked.value1)");
  expect(a?.rows).toEqual([{ id: "a", body: "first" }]);
  expect(b?.rows).toEqual([{ id: "b", body: "second" }]);
  expect(again?.rows).toEqual(a?.rows);
  expect(again?.rows?.[0]).not.toBe(a?.rows?.[0]);
  expect(missing?.rows).toEqual([]);
});

it("asks alone what is asked once, and what has a value that no column is compared with", async () => {
  const { reads, client, sent } = setUp((text) => [{ text }]);
  reads.ask(byId, ["a"]);
  for (const limit of [1, 2]) reads.ask("SELECT id FROM messages WHERE session = ? LIMIT ?", ["s", limit]);
  for (const value of ["x", 7, null]) reads.ask("SELECT id FROM notes WHERE owner = ?", [value]);
  for (const value of [1, 2]) reads.ask("SELECT id FROM notes WHERE number = ?", [value]);
  await reads.send(client);
  expect(sent.map(({ values }) => values)).toEqual([["a"], ["s", 1], ["s", 2], ["x"], [7], [null], [[1, 2]]]);
});

it("leaves to the turn of the unit what is asked too late or depends on more than rows", async () => {
  const { reads, client, sent } = setUp(() => []);
  expect(reads.ask("SELECT pg_notify(current_schema(), ?)", ["x"])).toBeNull();
  await reads.send(client);
  expect(reads.ask(byId, ["a"])).toBeNull();
  expect(sent).toEqual([]);
});

it("rejects if a read fails", async () => {
  const { reads, client } = setUp(() => {
    throw new Error("refused");
  });
  const read = reads.ask(byId, ["a"]);
  await expect(reads.send(client)).rejects.toThrow("refused");
  expect(read?.rows).toBeNull();
});
