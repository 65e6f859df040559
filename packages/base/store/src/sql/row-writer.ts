/** Writes the rows of one unit, and keeps known secrets out of them as the columns of each table specify. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event, NewEvent } from "@aegis/contract/event.ts";
import { type Redact, redacted } from "@aegis/lib/redact.ts";
import { type Dialect, type Eventually, onConstraint, type Sql, type Value } from "./sql.ts";
import { quoted, stored, type Table } from "./table.ts";

export type RowWriterOptions = {
  /** Uses the secrets of the moment. Absent: nothing is redacted. */
  redact?: Redact;
  /** Called when earlier versions of a row must not be kept. */
  scrub?: () => void;
};

/** What a failed insert means. */
type Meaning = { taken: string | (() => Promise<string>); reference?: string };

export class RowWriter implements Sql {
  readonly dialect: Dialect;
  readonly node: string | null;
  readonly #sql: Sql;
  readonly #redact: Redact | undefined;
  /** Earlier versions of a row must not be kept. */
  readonly scrub: () => void;

  constructor(sql: Sql, { redact, scrub = () => {} }: RowWriterOptions) {
    this.dialect = sql.dialect;
    this.node = sql.node;
    this.#sql = sql;
    this.#redact = redact;
    this.scrub = scrub;
  }

  get<Row>(text: string, ...values: Value[]): Eventually<Row | undefined> {
    return this.#sql.get<Row>(text, ...values);
  }

  all<Row>(text: string, ...values: Value[]): Eventually<Row[]> {
    return this.#sql.all<Row>(text, ...values);
  }

  run(text: string, ...values: Value[]): Eventually<number> {
    return this.#sql.run(text, ...values);
  }

  attempt(text: string, ...values: Value[]): Eventually<number> {
    return this.#sql.attempt(text, ...values);
  }

  append(event: NewEvent, at: number): Eventually<Event> {
    return this.#sql.append({ ...event, data: this.clean(event.data) } as NewEvent, at);
  }

  /** Throws `conflict` if the row, or one that excludes it, exists, and `not_found` if it refers to a missing row. */
  async insert<Row extends object, Hidden extends object, Numbered extends keyof Row>(
    table: Table<Row, Hidden, Numbered>,
    row: Omit<NoInfer<Row>, NoInfer<Numbered>> & Partial<NoInfer<Hidden>>,
    { taken, reference }: Meaning,
  ): Promise<void> {
    if (await this.add(table, row, reference)) return;
    throw new AegisError("conflict", typeof taken === "string" ? taken : await taken());
  }

  /** Returns false if the row, or one that excludes it, exists. Throws `not_found` if it refers to a missing row. */
  async add<Row extends object, Hidden extends object, Numbered extends keyof Row>(
    table: Table<Row, Hidden, Numbered>,
    row: Omit<NoInfer<Row>, NoInfer<Numbered>> & Partial<NoInfer<Hidden>>,
    reference?: string,
  ): Promise<boolean> {
    return (await this.#write(table.addText, this.#values(table.written, row), reference)) > 0;
  }

  /** Inserts the row or replaces the one with the same key, a list of columns. */
  async put<Row extends object>(table: Table<Row>, key: string, row: NoInfer<Row>, reference?: string): Promise<void> {
    await this.#write(table.putText(key), this.#values(table.written, row), reference);
  }

  /** Returns false if there is no such row. Without any change it returns true and does nothing. */
  async update<Row extends object, Hidden extends object, Numbered extends keyof Row>(
    table: Table<Row, Hidden, Numbered>,
    change: Partial<Omit<NoInfer<Row>, NoInfer<Numbered>> & NoInfer<Hidden>>,
    [where, ...values]: readonly [string, ...Value[]],
    reference?: string,
  ): Promise<boolean> {
    const changed = change as Record<string, unknown>;
    const columns = table.written.filter(({ name }) => changed[name] !== undefined);
    if (columns.length === 0) return true;
    const text = `UPDATE ${table.name} SET ${columns.map((column) => `${quoted(column)} = ?`).join(", ")} WHERE ${where}`;
    return (await this.#write(text, [...this.#values(columns, changed), ...values], reference)) > 0;
  }

  /** Whether there are secrets to remove later from what is needed unchanged now. */
  get redacts(): boolean {
    return this.#redact !== undefined;
  }

  /** The value without known secrets; the same one if it holds none. */
  clean<T>(value: T): T {
    return this.#redact === undefined ? value : redacted(value, this.#redact);
  }

  #values(columns: Table<object>["written"], row: object): Value[] {
    const given = row as Record<string, unknown>;
    return columns.map((column) => stored(column, column.isText ? this.clean(given[column.name]) : given[column.name]));
  }

  async #write(text: string, values: readonly Value[], reference: string | undefined): Promise<number> {
    try {
      return await (reference === undefined ? this.run(text, ...values) : this.attempt(text, ...values));
    } catch (error) {
      throw onConstraint(error, reference);
    }
  }
}
