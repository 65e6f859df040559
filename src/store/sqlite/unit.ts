/**
 * One unit's hold on the shared transaction. It works only while the unit runs, so that a late call cannot write into
 * another unit's part.
 */
import { AegisError } from "../../contract/errors.ts";
import type { Event } from "../../contract/event.ts";
import type { Connection, Sql, Value } from "./connection.ts";
import { ConstraintError } from "./errors.ts";

export class Unit implements Sql {
  /** What the unit appended; published once the commit is durable. */
  readonly events: Event[] = [];
  readonly #connection: Connection;
  #failure: unknown = null;
  #ended = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Why the unit must not commit even if it swallowed the error: the statement failed for more than a broken rule. */
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

  run(text: string, ...values: Value[]): { changes: number; rowid: number } {
    this.#check();
    try {
      return this.#connection.run(text, ...values);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#ended) throw new AegisError("internal", "this transaction is over: a call was made after its unit ended");
  }

  #failed(error: unknown): unknown {
    if (!(error instanceof ConstraintError)) this.#failure ??= error;
    return error;
  }
}
