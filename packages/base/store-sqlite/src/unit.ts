/**
 * One unit's handle on the shared transaction. It is valid only while the unit runs, so that a late call cannot write
 * into another unit's part.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event, NewEvent } from "@aegis/contract/event.ts";
import { ConstraintError, onConstraint, type Sql, type Value } from "@aegis/store/sql/sql.ts";
import type { Connection } from "./connection.ts";
import { sqliteDialect } from "./dialect.ts";

const appendText = "INSERT INTO events (at, type, session, data) VALUES (?, ?, ?, ?)";

export class SqliteUnit implements Sql {
  readonly dialect = sqliteDialect;
  readonly node = null;
  /** The events that the unit appended; published once the commit is durable. */
  readonly events: Event[] = [];
  readonly #connection: Connection;
  #failure: unknown = null;
  #ended = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Why the unit must not commit, even if it caught the error. */
  get failure(): unknown {
    return this.#failure;
  }

  end(): void {
    this.#ended = true;
  }

  get<Row>(text: string, ...values: Value[]): Row | undefined {
    this.#check();
    try {
      return this.#connection.get<Row>(text, ...values);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  all<Row>(text: string, ...values: Value[]): Row[] {
    this.#check();
    try {
      return this.#connection.all<Row>(text, ...values);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  run(text: string, ...values: Value[]): number {
    this.#check();
    try {
      return this.#connection.run(text, ...values);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  attempt(text: string, ...values: Value[]): number {
    this.#check();
    try {
      return this.#connection.run(text, ...values);
    } catch (error) {
      // SQLite undoes the statement alone.
      throw error instanceof ConstraintError && error.kind === "reference" ? error : this.#failed(error);
    }
  }

  append(event: NewEvent, at: number): Event {
    this.#check();
    try {
      const data = JSON.stringify(event.data);
      const seq = this.#connection.insert(appendText, at, event.type, event.session, data);
      const numbered: Event = { seq, at, ...event };
      this.events.push(numbered);
      return numbered;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#ended) throw new AegisError("internal", "this transaction is over: a call was made after its unit ended");
  }

  #failed(error: unknown): unknown {
    this.#failure ??= onConstraint(error);
    return error;
  }
}
