/**
 * Which rows a statement of the shared SQL reads or writes, as far as its text shows. Anything unclear counts as
 * touched, so an unusual statement costs time but never gives a wrong answer.
 */
import type { Value } from "@aegis/store/sql/sql.ts";

export type Shape = {
  readonly isRead: boolean;
  /** Null if the text does not tell. */
  readonly tables: readonly string[] | null;
  /** Columns that have one value in every row it touches, with the index of that value. */
  readonly keys: ReadonlyMap<string, number>;
  /** Whether its answer depends on rows alone, so that it may be asked before its time. */
  readonly isPlainRead: boolean;
};

/** A statement with its values. */
export type Footprint = { readonly shape: Shape; readonly values: readonly Value[] };

/** Whether no write can change what the read answers. */
export function areDisjoint(read: Footprint, write: Footprint): boolean {
  const [ours, theirs] = [read.shape, write.shape];
  if (ours.tables === null || theirs.tables === null) return false;
  const { tables } = theirs;
  if (!ours.tables.some((table) => tables.includes(table))) return true;
  for (const [column, index] of ours.keys) {
    const other = theirs.keys.get(column);
    if (other !== undefined && areDifferent(read.values[index], write.values[other])) return true;
  }
  return false;
}

/** The server may compare values of two types as equal. */
function areDifferent(a: Value | undefined, b: Value | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a !== b && (typeof a === typeof b || a === null || b === null);
}

/** `shared` has the placeholders of the shared SQL. */
export function shapeOf(shared: string): Shape {
  let count = 0;
  const text = /\?\d/.test(shared) ? shared : shared.replace(/\?/g, () => `?${++count}`);
  if (!/\b(INSERT|UPDATE|DELETE)\b/i.test(text) && /^\s*(SELECT|WITH)\b/i.test(text)) return readShape(text);
  return insertShape(text) ?? changeShape(text) ?? writes(null);
}

const none: ReadonlyMap<string, number> = new Map();
const name = '"?(\\w+)"?';

function writes(tables: Shape["tables"], keys = none): Shape {
  return { isRead: false, tables, keys, isPlainRead: false };
}

function readShape(text: string): Shape {
  const tables = [...text.matchAll(new RegExp(`\\b(?:FROM|JOIN)\\s+${name}`, "gi"))].map(([, table]) => table ?? "");
  const listsTables = new RegExp(`\\bFROM\\s+${name}(\\s+(AS\\s+)?\\w+)?\\s*,`, "i").test(text);
  const isSimple = tables.length === 1 && text.match(/\bSELECT\b/gi)?.length === 1;
  const where = /\bWHERE\b(.*?)(?:\b(?:GROUP BY|HAVING|ORDER BY|LIMIT|WINDOW)\b|$)/is.exec(topLevel(text))?.[1] ?? "";
  return {
    isRead: true,
    tables: listsTables ? null : tables,
    keys: isSimple ? equalities(where) : none,
    isPlainRead: tables.length > 0 && !/\b(clock_timestamp|pg_notify|nextval)\b/.test(text),
  };
}

function insertShape(text: string): Shape | null {
  const table = new RegExp(`^\\s*INSERT\\s+INTO\\s+${name}`, "i").exec(text)?.[1];
  if (table === undefined) return null;
  const values = /^[^()]*\(([^()]*)\)\s*VALUES\s*\(([^()]*)\)\s*(?:ON CONFLICT\s*(?:\(([^()]*)\))?\s*DO\s+(\w+).*)?$/is;
  const found = values.exec(text);
  if (found === null) return writes([table]);
  const [, columns = "", places = "", target = "", action] = found;
  // An update changes a row of which only the columns of the conflict are known.
  const isKnown = action?.toUpperCase() === "UPDATE" ? names(target) : names(columns);
  const given = places.split(",").map((place) => /^\s*\?(\d+)\s*$/.exec(place)?.[1]);
  const keys = names(columns).flatMap((column, at): [string, number][] => {
    const place = given[at];
    return place === undefined || !isKnown.includes(column) ? [] : [[column, Number(place) - 1]];
  });
  return writes([table], new Map(keys));
}

function changeShape(text: string): Shape | null {
  const flat = topLevel(text);
  const change = `^\\s*(?:UPDATE\\s+${name}\\s+SET\\s(.*?)|DELETE\\s+FROM\\s+${name}\\s*)(?:\\bWHERE\\b(.*))?$`;
  const found = new RegExp(change, "is").exec(flat);
  if (found === null) return null;
  const [, updated, set = "", deleted, where = ""] = found;
  const table = updated ?? deleted ?? "";
  const assignments = set === "" ? [] : set.split(",").map((part) => new RegExp(`^\\s*${name}\\s*=`).exec(part)?.[1]);
  if (assignments.includes(undefined) || /\bFROM\b/i.test(set)) return writes([table]);
  const kept = [...equalities(where)].filter(([column]) => !assignments.includes(column));
  return writes([table], new Map(kept));
}

/** The columns that the condition compares with one value, in parts that are joined by AND. */
function equalities(where: string): ReadonlyMap<string, number> {
  if (/\b(OR|CASE)\b/i.test(where)) return none;
  const equality = new RegExp(`^\\s*${name}\\s*=\\s*\\?(\\d+)\\s*$`);
  const pairs = where.split(/\bAND\b/i).flatMap((part): [string, number][] => {
    const [, column, place] = equality.exec(part) ?? [];
    return column === undefined ? [] : [[column, Number(place) - 1]];
  });
  return new Map(pairs);
}

/** Without what is in parentheses. */
function topLevel(text: string): string {
  let [before, after] = ["", text];
  while (before !== after) [before, after] = [after, after.replace(/\([^()]*\)/g, " ")];
  return after;
}

function names(list: string): string[] {
  return list.split(",").map((column) => column.trim().replaceAll('"', ""));
}
