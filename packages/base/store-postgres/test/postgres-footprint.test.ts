/** Which rows a statement touches: an answer that is used before its time must be the one of its time. */

import type { Value } from "@aegis/store/sql/sql.ts";
import { describe, expect, it } from "vitest";
import { areDisjoint, shapeOf } from "../src/footprint.ts";

function statement(text: string, ...values: Value[]) {
  return { shape: shapeOf(text), values };
}

function keys(text: string): Record<string, number> {
  return Object.fromEntries(shapeOf(text).keys);
}

describe("the shape of a statement", () => {
  it("knows the tables and compared columns of a read", () => {
    const text =
      "SELECT id, body FROM messages WHERE session = ? AND status = 'pending' AND turn = ? ORDER BY position";
    expect(shapeOf(text)).toMatchObject({ isRead: true, tables: ["messages"], isPlainRead: true });
    expect(keys(text)).toEqual({ session: 0, turn: 1 });
    expect(keys('SELECT session FROM group_members WHERE at > ? AND "group" = ?')).toEqual({ group: 1 });
    expect(keys("SELECT seq FROM seen WHERE session = ?2 AND client = ?1")).toEqual({ session: 1, client: 0 });
  });

  it.each([
    "SELECT id FROM messages WHERE id = ? OR session = ?",
    "SELECT id FROM messages WHERE NOT (session = ? AND turn = ? AND status = ?)",
    "SELECT id FROM messages WHERE (id = ? OR turn = ?)",
    "SELECT id FROM messages WHERE session IN (SELECT id FROM sessions WHERE node = ?)",
    "SELECT messages.id FROM messages JOIN sessions ON sessions.id = messages.session WHERE id = ?",
    "SELECT id FROM messages WHERE hops >= ? AND admitted_at BETWEEN ? AND ?",
    "SELECT id FROM messages WHERE CASE WHEN hops = 1 AND id = ? AND turn = ? THEN 1 ELSE 0 END = 1",
    "SELECT id FROM messages WHERE id = ? UNION SELECT id FROM messages WHERE turn = ?",
  ])("knows no compared column of %s", (text) => {
    expect(keys(text)).toEqual({});
    expect(shapeOf(text).tables).toContain("messages");
  });

  it("does not know the tables of a list", () => {
    expect(shapeOf("SELECT 1 FROM messages AS m, sessions WHERE m.id = ?").tables).toBeNull();
  });

  it("asks before its time only what depends on rows alone", () => {
    expect(shapeOf("SELECT pg_notify(current_schema(), ?)").isPlainRead).toBe(false);
    expect(shapeOf("SELECT lease_until - clock_timestamp() FROM nodes").isPlainRead).toBe(false);
    expect(shapeOf("WITH RECURSIVE below (id) AS (SELECT id FROM sessions) SELECT id FROM below").isPlainRead).toBe(
      true,
    );
    expect(shapeOf("UPDATE nodes SET url = ?").isPlainRead).toBe(false);
    expect(shapeOf("WITH gone AS (DELETE FROM nodes RETURNING name) SELECT name FROM gone")).toMatchObject({
      isRead: false,
      tables: null,
    });
  });

  it("knows the row of an insert, and of one that replaces a row only what both have", () => {
    expect(keys("INSERT INTO seen (client, session, seq) VALUES (?, 'x', ?) ON CONFLICT DO NOTHING")).toEqual({
      client: 0,
      seq: 1,
    });
    const replacing = `INSERT INTO seen (client, session, seq) VALUES (?, ?, ?)
      ON CONFLICT (client, session) DO UPDATE SET seq = max(seen.seq, excluded.seq)`;
    expect(keys(replacing)).toEqual({ client: 0, session: 1 });
    expect(shapeOf(replacing).tables).toEqual(["seen"]);
    expect(keys("INSERT INTO steps (run, key) SELECT ?, key FROM steps WHERE run = ?")).toEqual({});
    expect(keys("INSERT INTO steps (run, key) VALUES (lower(?), ?)")).toEqual({});
  });

  it("knows of a changed row what stays the same", () => {
    expect(keys("UPDATE messages SET status = ?, turn = ? WHERE id = ? AND turn = ?")).toEqual({ id: 2 });
    expect(keys("UPDATE messages SET body = coalesce(body, ?) WHERE id = ?")).toEqual({ id: 1 });
    expect(keys("DELETE FROM steps WHERE run = ? AND epoch >= ?")).toEqual({ run: 0 });
    expect(keys("DELETE FROM commands WHERE name = ? OR deadline < ?")).toEqual({});
    expect(shapeOf("DELETE FROM commands").tables).toEqual(["commands"]);
    expect(keys("UPDATE tasks SET node = ? FROM nodes WHERE id = ?")).toEqual({});
  });
});

describe("a read and a write", () => {
  const read = statement("SELECT * FROM messages WHERE id = ?", "m1");
  const insert = "INSERT INTO messages (id, session) VALUES (?, ?)";

  it("are disjoint if their tables or a column of their rows differ", () => {
    expect(areDisjoint(read, statement("UPDATE sessions SET title = ? WHERE id = ?", "x", "m1"))).toBe(true);
    expect(areDisjoint(read, statement(insert, "m2", "s1"))).toBe(true);
    expect(
      areDisjoint(statement("SELECT * FROM messages WHERE session = ?", "s2"), statement(insert, "m1", "s1")),
    ).toBe(true);
    expect(areDisjoint(read, statement(insert, null, "s1"))).toBe(true);
  });

  it("are not if that cannot be told", () => {
    expect(areDisjoint(read, statement(insert, "m1", "s1"))).toBe(false);
    expect(areDisjoint(read, statement("UPDATE messages SET turn = ? WHERE session = ?", "t", "s1"))).toBe(false);
    expect(areDisjoint(read, statement("DELETE FROM messages"))).toBe(false);
    expect(areDisjoint(read, statement("TRUNCATE messages"))).toBe(false);
    expect(areDisjoint(statement("SELECT max(seq) FROM messages"), statement(insert, "m1", "s1"))).toBe(false);
    expect(areDisjoint(statement("SELECT 1 FROM a WHERE n = ?", "1"), statement("DELETE FROM a WHERE n = ?", 1))).toBe(
      false,
    );
  });
});
