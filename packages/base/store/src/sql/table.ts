/**
 * The columns of a table: how each is stored, and whether it may hold a secret. A column without its kind does not
 * compile, so every new one needs a decision.
 */
import type { ReadSql, Value } from "./sql.ts";

/**
 * What becomes of known secrets. `text` is redacted when it is written. `later` is needed unchanged until its row has
 * ended, and redacted then. `whole` stays unchanged, because the row is compared with it or resumed from it. `name` is
 * an identifier used for lookups.
 */
type Mark = "text" | "later" | "whole" | "name";

/**
 * `plain` are ids, enumerations and numbers: they cannot hold text, because their values come from Aegis. A `flag` is a
 * boolean, stored as 0 or 1. Text has a mark; structured values are JSON and have one too. `any` stores null as JSON.
 */
type KindOf<V> = unknown extends V
  ? `${"json" | "any"} ${Mark}`
  : [Present<V>] extends [boolean]
    ? "flag"
    : [Present<V>] extends [string | number]
      ? string extends V
        ? Mark
        : "plain"
      : `json ${Mark}`;
type Present<V> = Exclude<V, null | undefined>;

/** A field that a row may lack ends with `?`: null in the database. */
type Columns<Row> = {
  readonly [K in keyof Row]-?: undefined extends Row[K]
    ? unknown extends Row[K]
      ? KindOf<Row[K]>
      : `${KindOf<Row[K]>}?`
    : KindOf<Row[K]>;
};

type Column = {
  readonly name: string;
  readonly format: "flag" | "json" | "any" | null;
  readonly isOptional: boolean;
  /** Redacted when it is written. */
  readonly isText: boolean;
};

/** Turns values that an older version stored into those of now. */
type Readers<Row> = { readonly [K in keyof Row]?: (value: Exclude<Row[K], null | undefined>) => Row[K] };

/**
 * A table with rows of one type. `Hidden` are columns that are written but are no part of a row; `Numbered` is the one
 * that the database fills.
 */
export class Table<Row extends object, Hidden extends object = object, Numbered extends keyof Row = never> {
  readonly name: string;
  /** The columns of a row, for a statement that reads several tables. */
  readonly columns: string;
  readonly #read: readonly Column[];
  readonly #readers: ReadonlyMap<string, (value: never) => unknown>;
  /** Those that an insert or an update may name. */
  readonly written: readonly Column[];
  /** Changes no row if an equal key exists. */
  readonly addText: string;
  readonly #select: string;
  readonly #insert: string;

  constructor(
    name: string,
    columns: Columns<Omit<Row, Numbered>>,
    rest: { hidden?: Columns<Hidden>; numbered?: Numbered; readers?: Readers<Row> } = {},
  ) {
    const own = Object.entries<string>(columns).map(columnOf);
    this.name = name;
    this.#read = rest.numbered === undefined ? own : [...own, columnOf([String(rest.numbered), "plain"])];
    this.#readers = new Map(Object.entries(rest.readers ?? {}));
    this.written = [...own, ...Object.entries<string>(rest.hidden ?? {}).map(columnOf)];
    this.columns = this.#read.map((column) => `${name}.${quoted(column)}`).join(", ");
    this.#select = `SELECT ${this.columns} FROM ${name} `;
    const places = this.written.map(() => "?").join(", ");
    this.#insert = `INSERT INTO ${name} (${this.written.map(quoted).join(", ")}) VALUES (${places})`;
    this.addText = `${this.#insert} ON CONFLICT DO NOTHING`;
  }

  /** The first row. `rest` is what follows the name of the table. */
  async one(sql: ReadSql, rest: string, ...values: Value[]): Promise<Row | null> {
    const stored = await sql.get<StoredRow>(this.#select + rest, ...values);
    return stored === undefined ? null : this.row(stored);
  }

  async all(sql: ReadSql, rest: string, ...values: Value[]): Promise<Row[]> {
    return (await sql.all<StoredRow>(this.#select + rest, ...values)).map(this.row);
  }

  /** Rows of a statement that reads several tables. `rest` is what follows its list of columns. */
  async select(sql: ReadSql, rest: string, ...values: Value[]): Promise<Row[]> {
    return (await sql.all<StoredRow>(`SELECT ${this.columns} ${rest}`, ...values)).map(this.row);
  }

  /** Key by key: a spread of what SQLite returns takes twice as long. */
  readonly row = (stored: StoredRow): Row => {
    const row: Record<string, unknown> = {};
    for (const { name, format, isOptional } of this.#read) {
      const value = stored[name] ?? null;
      if (value === null) {
        if (!isOptional) row[name] = null;
      } else if (format === null) row[name] = value;
      else row[name] = format === "flag" ? value === 1 : JSON.parse(String(value));
    }
    for (const [name, read] of this.#readers) if (row[name] !== null) row[name] = read(row[name] as never);
    return row as Row;
  };

  /** Replaces the row with the same key. */
  putText(key: string): string {
    const keys = key.split(", ");
    const others = this.written.filter(({ name }) => !keys.includes(name));
    const changes = others.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(", ");
    return `${this.#insert} ON CONFLICT (${key}) DO UPDATE SET ${changes}`;
  }
}

/** The condition for rows that have these values. */
export function matching(wanted: Readonly<Record<string, Value | undefined>>): { where: string; values: Value[] } {
  const given = Object.entries(wanted).flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]));
  const conditions = given.map(({ column }) => `${column} = ?`).join(" AND ");
  return { where: given.length === 0 ? "" : `WHERE ${conditions}`, values: given.map(({ value }) => value) };
}

/** Reads a table over a connection or over one unit. The class that writes it extends it. */
export class TableReads<S extends ReadSql> {
  protected readonly sql: S;

  constructor(sql: S) {
    this.sql = sql;
  }
}

export type StoredRow = { readonly [column: string]: Value | undefined };

export function stored({ format }: Column, value: unknown): Value {
  if (format === "any") return JSON.stringify(value ?? null);
  if (value === null || value === undefined) return null;
  if (format === "flag") return value === true ? 1 : 0;
  return format === "json" ? JSON.stringify(value) : (value as Value);
}

/** Some columns have the name of a keyword. */
export function quoted({ name }: Column): string {
  return `"${name}"`;
}

function columnOf([name, kind]: [string, string]): Column {
  const [format, mark] = kind.replace("?", "").split(" ");
  return {
    name,
    format: format === "flag" || format === "json" || format === "any" ? format : null,
    isOptional: kind.endsWith("?"),
    isText: (mark ?? format) === "text",
  };
}
