/** What the tables need from a database. Both stores provide it, so that each statement is written once. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event, NewEvent } from "@aegis/contract/event.ts";

export type Value = null | number | string;

/** An embedded database answers immediately, a server later. */
export type Eventually<T> = T | Promise<T>;

/**
 * Reads of a connection or of one unit. Placeholders are `?`, or `?1`, `?2`; a key of a JSON column is read with
 * `column ->> '$.key'`. Statements otherwise use the SQL that SQLite and PostgreSQL share. SQLite reads the tables of a
 * `CROSS JOIN` in their order, and sorts by `+column` rather than read a whole table in that order.
 */
export interface ReadSql {
  readonly dialect: Dialect;
  /** The node that writes; null for an embedded database. */
  readonly node: string | null;
  get<Row>(text: string, ...values: Value[]): Eventually<Row | undefined>;
  all<Row>(text: string, ...values: Value[]): Eventually<Row[]>;
}

/**
 * One unit's part of a transaction. A statement that fails makes the whole unit fail, except for `attempt`. An insert
 * that may find its row taken says `ON CONFLICT DO NOTHING` and looks at the number of rows.
 */
export interface Sql extends ReadSql {
  /** Returns the number of rows that it changed. */
  run(text: string, ...values: Value[]): Eventually<number>;
  /** Like `run`, but a reference to a missing row throws a `ConstraintError` and leaves the unit usable. */
  attempt(text: string, ...values: Value[]): Eventually<number>;
  /** Numbers an event, stores it, and keeps it for the feed. */
  append(event: NewEvent, at: number): Eventually<Event>;
}

/** The few texts for which the databases share no syntax or no index. */
export type Dialect = {
  /** After a column: its value is in the JSON array of strings that is bound to the placeholder. */
  readonly inArray: string;
  /** The condition for events of one queue, run or schedule; has one placeholder. */
  readonly eventsOf: Readonly<Record<"queue" | "run" | "schedule", string>>;
  /** A task position after all that exist. */
  readonly lastTaskPosition: string;
  /** The time of the database's clock in milliseconds. */
  readonly now: string;
  /** Sends a text to all nodes when the transaction commits; has one placeholder. */
  readonly tell: string;
};

/** A write violated a constraint of the schema. */
export class ConstraintError extends Error {
  override readonly name = "ConstraintError";
  readonly kind: "unique" | "reference" | "other";

  constructor(kind: ConstraintError["kind"], cause: Error) {
    super(cause.message, { cause });
    this.kind = kind;
  }
}

/** Gives a violated reference the meaning it has for one table. */
export function onConstraint(error: unknown, reference?: string): unknown {
  if (!(error instanceof ConstraintError)) return error;
  if (error.kind === "reference" && reference !== undefined)
    return new AegisError("not_found", reference, { cause: error });
  return new AegisError("internal", `the store refused a row: ${error.message}`, { cause: error });
}
