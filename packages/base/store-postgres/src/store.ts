/** A store on the user's PostgreSQL server, shared by several nodes. Each project has its own schema. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { DatabaseFacts } from "@aegis/contract/api.ts";
import type { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Backoff } from "@aegis/lib/backoff.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { retry } from "@aegis/lib/retry.ts";
import { Listeners } from "@aegis/store/listeners.ts";
import type { Store, StoreHealth, StoreReads, StoreTx } from "@aegis/store/store.ts";
import { createReads, createTables } from "@aegis/store/tables.ts";
import { Connections } from "./connections.ts";
import { loadDriver } from "./driver.ts";
import { finalError, isTransient } from "./errors.ts";
import { Feed, type FeedHistory } from "./feed.ts";
import { joinCluster, Membership, type NodeOptions } from "./membership.ts";
import { Reader } from "./reader.ts";
import { prepareSchema, schemaVersion } from "./schema.ts";
import { readFacts, refuseUnusable, requireConnections, requireNotifications } from "./server.ts";
import type { PostgresUnit } from "./unit.ts";
import type { Place } from "./url.ts";
import { PostgresWriter } from "./writer.ts";

export type PostgresStoreOptions = Place & {
  log: Logger;
  /** The node that this process is. Without it the store checks no lease. */
  node?: NodeOptions;
  /** How long to wait for a server that is away. Default: not at all. */
  waitMs?: number;
  /** Called once, if the server has lost commits. Every write is refused from then on. */
  onHistoryLost?: (error: AegisError) => void;
  /** What this process has published with an earlier store. */
  history?: FeedHistory;
};

/** Throws `unavailable` for a server that cannot be used, before anything is changed. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { log, node, waitMs = 0, onHistoryLost = () => {}, history = { published: 0 }, ...place } = options;
  const connections = new Connections(await loadDriver(), place, log);
  try {
    const membership = await untilUsable(connections, node, log, waitMs);
    const store = new PostgresStore(connections, membership, log, history, onHistoryLost);
    await store.open();
    return store;
  } catch (error) {
    await connections.pool.end();
    throw finalError(error, connections.where);
  }
}

const backoff: Backoff = { firstMs: 100, longestMs: 2_000 };

/** Checks the server, prepares the schema and joins the cluster. Repeats this while the server is away. */
function untilUsable(
  connections: Connections,
  node: NodeOptions | undefined,
  log: Logger,
  waitMs: number,
): Promise<Membership | null> {
  const until = performance.now() + waitMs;
  return retry(() => prepare(connections, node), {
    backoff,
    clock: systemClock,
    mayRetry: (error) => isTransient(error) && performance.now() < until,
    // The command that starts the daemon shows this line.
    onWait: (error) => log.warn(`waiting for ${connections.where}`, { error: errorText(error) }),
  });
}

async function prepare(connections: Connections, node: NodeOptions | undefined): Promise<Membership | null> {
  await requireUsable(connections);
  const client = await connections.connect("setup", () => {});
  try {
    await prepareSchema(client, connections.schema);
    if (node === undefined) return null;
    return new Membership({ connections, node, ...(await joinCluster(client, connections.schema, node)) });
  } finally {
    await client.end();
  }
}

async function requireUsable(connections: Connections): Promise<void> {
  const client = await connections.connect("probe", () => {});
  try {
    refuseUnusable(await readFacts(client, () => systemClock.now()), connections.where);
    await requireConnections(client, connections.where);
  } finally {
    await client.end();
  }
  await requireNotifications(connections);
}

class PostgresStore implements Store {
  readonly read: StoreReads;
  readonly #connections: Connections;
  readonly #listeners: Listeners;
  readonly #reader: Reader;
  readonly #feed: Feed;
  readonly #writer: PostgresWriter;
  readonly membership?: Membership;
  #closing: Promise<void> | null = null;

  constructor(
    connections: Connections,
    membership: Membership | null,
    log: Logger,
    history: FeedHistory,
    onHistoryLost: (error: AegisError) => void,
  ) {
    // Waiting for a server takes real time, also when the project has an injected clock.
    const clock = systemClock;
    const scope = new AsyncLocalStorage<PostgresUnit>();
    this.#connections = connections;
    if (membership !== null) this.membership = membership;
    const node = membership?.node ?? null;
    this.#listeners = new Listeners(log);
    this.#reader = new Reader({ connections, node, scope, clock });
    this.read = createReads(this.#reader);
    const deliver = (events: readonly Event[], own: readonly Event[]) => this.#listeners.publish(events, own);
    const hint = (text: string) => membership?.hint(text);
    this.#feed = new Feed({
      connections,
      reader: this.#reader,
      deliver,
      hint,
      history,
      onHistoryLost,
      clock,
      log,
    });
    const publish = (events: readonly Event[]) => this.#feed.committed(events);
    const requireHistory = (seq: number) => this.#feed.requireHistory(seq);
    this.#writer = new PostgresWriter({ connections, scope, publish, membership, requireHistory, clock, log });
  }

  async open(): Promise<void> {
    await this.#feed.open();
  }

  transact<T>(unit: (tx: StoreTx) => Promise<T>): Promise<T> {
    return this.#writer.submit((sql) => unit(createTables(sql)));
  }

  onCommit(...listener: Parameters<Store["onCommit"]>): () => void {
    return this.#listeners.add(...listener);
  }

  async health(): Promise<StoreHealth> {
    const health = { path: this.#connections.where, bytes: 0, schema: schemaVersion, writable: true };
    try {
      // Changes nothing, yet needs the lock and the disk like any commit.
      await this.#writer.submit((sql) => sql.run("UPDATE aegis_schema SET version = version"));
      const text = `SELECT coalesce(sum(pg_total_relation_size(oid)), 0) AS bytes,
        (SELECT version FROM aegis_schema) AS schema
        FROM pg_class WHERE relkind = 'r' AND relnamespace = ?::regnamespace`;
      const found = await this.#reader.get<{ bytes: number; schema: number }>(text, this.#connections.schema);
      return { ...health, ...found, database: await this.#facts(), problems: [] };
    } catch (error) {
      return { ...health, writable: false, problems: [errorText(error)] };
    }
  }

  async #facts(): Promise<DatabaseFacts> {
    const client = await this.#connections.pool.connect();
    try {
      return await readFacts(client, () => systemClock.now());
    } finally {
      client.release();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writer.close();
    await this.#feed.close();
    this.#reader.close();
    this.#listeners.clear();
    await this.membership?.close();
    await this.#connections.pool.end();
  }
}
