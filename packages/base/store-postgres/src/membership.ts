/**
 * The lease of one node. A node that joins raises its incarnation; the writer checks the incarnation in the first round
 * trip of each transaction. All times are those of the database's clock. The lease is renewed on its own connection, so
 * that a long transaction does not delay it.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { StoreMembership } from "@aegis/store/store.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import type { Client } from "pg";
import type { Connections } from "./connections.ts";
import { postgresDialect } from "./dialect.ts";
import { postgresError } from "./errors.ts";
import { ServerClock } from "./server-clock.ts";

/** Describes the node that opens a store. */
export type NodeOptions = {
  /** Unique in the cluster. */
  name: string;
  /** Identifies the state folder of the node, which only one process holds at a time. */
  holder: string;
  leaseMs: number;
  version: string;
  labels: readonly string[];
  /** Null means no limit. */
  maxSessions: number | null;
};

const { now } = postgresDialect;

const upsert = `INSERT INTO nodes
    (name, incarnation, holder, alive, draining, lease_until, joined_at, lost_at, version, labels, sessions_max)
  VALUES ($1, 1, $2, 1, 0, ${now} + $3, ${now}, NULL, $4, $5, $6)
  ON CONFLICT (name) DO UPDATE SET incarnation = nodes.incarnation + 1, holder = excluded.holder, alive = 1,
    lease_until = excluded.lease_until, joined_at = excluded.joined_at, lost_at = NULL, url = NULL,
    version = excluded.version, labels = excluded.labels, sessions_max = excluded.sessions_max
  RETURNING incarnation, ${now} AS now`;

/** Throws `conflict` if a live node has the name. An earlier process of the same state folder has ended, by its lock. */
export async function joinCluster(
  client: Client,
  schema: string,
  node: NodeOptions,
): Promise<{ incarnation: number; clock: ServerClock }> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [schema]);
    const text = `SELECT holder, lease_until - ${now} AS lease_ms FROM nodes WHERE name = $1 AND alive = 1`;
    const { rows } = await client.query<{ holder: string; lease_ms: number }>(text, [node.name]);
    const [before] = rows;
    if (before !== undefined && before.holder !== node.holder && before.lease_ms > 0) throw nameTaken(node.name);
    const { leaseMs, version, labels, maxSessions } = node;
    const values = [node.name, node.holder, leaseMs, version, JSON.stringify(labels), maxSessions];
    const clock = new ServerClock();
    const asked = performance.now();
    const joined = await client.query<{ incarnation: number; now: number }>(upsert, values);
    const [row] = joined.rows;
    if (row === undefined) throw new AegisError("internal", "the server did not store the node");
    clock.read(row.now, asked, performance.now());
    await client.query("COMMIT");
    return { incarnation: row.incarnation, clock };
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

function nameTaken(name: string): AegisError {
  return new AegisError("conflict", `a node "${name}" is alive in this cluster`, {
    hint: "give each node its own name with cluster.node; a node that was killed frees its name when its lease ends",
  });
}

export type MembershipOptions = {
  connections: Connections;
  node: NodeOptions;
  incarnation: number;
  clock: ServerClock;
};

export class Membership implements StoreMembership {
  readonly node: string;
  readonly incarnation: number;
  readonly #options: MembershipOptions;
  readonly #fencedListeners = new Set<() => void>();
  readonly #hintListeners = new Set<(hint: string) => void>();
  readonly #fenced = new AbortController();
  #client: Client | null = null;
  #closed = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.node = options.node.name;
    this.incarnation = options.incarnation;
  }

  now(): number {
    return this.#options.clock.now();
  }

  async renew(): Promise<boolean> {
    return this.#setLease(this.#options.node.leaseMs);
  }

  async leave(): Promise<void> {
    await this.#setLease(-1);
  }

  onFenced(listener: () => void): () => void {
    this.#fencedListeners.add(listener);
    return () => this.#fencedListeners.delete(listener);
  }

  onHint(listener: (hint: string) => void): () => void {
    this.#hintListeners.add(listener);
    return () => this.#hintListeners.delete(listener);
  }

  async say(texts: readonly string[]): Promise<void> {
    const { connections } = this.#options;
    const text = "SELECT pg_notify($1, said) FROM unnest($2::text[]) AS said";
    await connections.pool.query(text, [connections.schema, texts]);
  }

  fence(): void {
    this.#fenced.abort();
  }

  /** Aborts when nothing may be written any more. */
  get isOver(): AbortSignal {
    return this.#fenced.signal;
  }

  /** A write was refused. Returns the error for its caller. */
  fenced(): AegisError {
    this.fence();
    for (const listener of [...this.#fencedListeners]) listener();
    return new StoreOverError(`node "${this.node}" lost its lease: another node has taken over its work`, {
      hint: "the node joins again by itself; nothing was stored",
    });
  }

  hint(text: string): void {
    for (const listener of [...this.#hintListeners]) listener(text);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#client?.end().catch(() => {});
    this.#client = null;
  }

  async #setLease(ms: number): Promise<boolean> {
    const { connections, clock } = this.#options;
    if (this.#closed) throw new StoreOverError("the store is closed");
    try {
      this.#client ??= await connections.connect("lease", (lost) => {
        if (this.#client === lost) this.#client = null;
      });
      const text = `UPDATE nodes SET lease_until = ${now} + $1 WHERE name = $2 AND incarnation = $3 AND alive = 1
        RETURNING ${now} AS now`;
      const asked = performance.now();
      const { rows } = await this.#client.query<{ now: number }>(text, [ms, this.node, this.incarnation]);
      const [row] = rows;
      if (row !== undefined) clock.read(row.now, asked, performance.now());
      return row !== undefined;
    } catch (error) {
      const client = this.#client;
      this.#client = null;
      client?.end().catch(() => {});
      throw postgresError(error, connections.where);
    }
  }
}
