/** Reads committed data on the pool. A read is repeated during a short outage of the server. */
import type { AsyncLocalStorage } from "node:async_hooks";
import type { Backoff } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { retry } from "@aegis/lib/retry.ts";
import type { ReadSql, Value } from "@aegis/store/sql/sql.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import type { QueryResult } from "pg";
import type { Connections } from "./connections.ts";
import { postgresDialect } from "./dialect.ts";
import { isTransient, postgresError } from "./errors.ts";
import { Statements } from "./statements.ts";
import type { PostgresUnit } from "./unit.ts";

const backoff: Backoff = { firstMs: 50, longestMs: 1_000 };
const repeatForMs = 10_000;

export type ReaderOptions = {
  connections: Connections;
  node: string | null;
  /** The unit on whose behalf code runs. */
  scope: AsyncLocalStorage<PostgresUnit>;
  clock: Clock;
};

export class Reader implements ReadSql {
  readonly dialect = postgresDialect;
  readonly node: string | null;
  readonly #options: ReaderOptions;
  readonly #statements = new Statements();
  readonly #closing = new AbortController();

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.node = options.node;
  }

  async get<Row>(text: string, ...values: Value[]): Promise<Row | undefined> {
    return (await this.#query(text, values)).rows[0] as Row | undefined;
  }

  async all<Row>(text: string, ...values: Value[]): Promise<Row[]> {
    return (await this.#query(text, values)).rows as Row[];
  }

  close(): void {
    this.#closing.abort();
  }

  async #query(text: string, values: Value[]): Promise<QueryResult> {
    const { connections, scope, clock } = this.#options;
    const end = scope.getStore()?.begin();
    const { signal } = this.#closing;
    const until = performance.now() + repeatForMs;
    const mayRetry = (error: unknown) => isTransient(error) && performance.now() < until;
    const ask = () => connections.pool.query(this.#statements.bind(text, values));
    try {
      signal.throwIfAborted();
      return await retry(ask, { backoff, clock, signal, mayRetry });
    } catch (error) {
      throw signal.aborted ? new StoreOverError("the store is closed") : postgresError(error, connections.where);
    } finally {
      end?.();
    }
  }
}
