/**
 * Opens the connections of one store: a pool that reads, and single ones for the writer and the feed. If the URL names
 * several servers, all connections go to the one that was found to be writable last.
 */

import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Client, ClientConfig, Pool } from "pg";
import { connectionOptions, type PgDriver, sessionSettings } from "./driver.ts";
import { notWritable } from "./errors.ts";
import { type Place, serverUrls, where } from "./url.ts";

const readers = 4;
/** A statement without an answer for this long means that the network is cut. Longer than any timeout of the server. */
const answerMs = 15_000;
/** A lease must be renewed on another connection soon after this one hangs. */
const leaseAnswerMs = 2_500;

/**
 * A writer that stands still inside a transaction holds up every other node: the server ends it after two seconds. A
 * commit must survive a crash of the server, regardless of the server's default.
 */
const settings = {
  writer: `SET idle_in_transaction_session_timeout = '2s'; SET lock_timeout = '10s'; SET statement_timeout = '12s';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`,
  feed: "SET idle_session_timeout = 0",
  lease: "SET idle_session_timeout = 0; SET lock_timeout = '2s'; SET statement_timeout = '2s'",
  setup: "SET lock_timeout = '30s'",
  /** Changes nothing: a connection pooler may give the connection to another program. */
  probe: null,
} as const;

export class Connections {
  readonly pool: Pool;
  readonly schema: string;
  /** Names the server for people. */
  readonly where: string;
  readonly #driver: PgDriver;
  readonly #servers: readonly string[];
  readonly #settings: string;
  #current = 0;

  constructor(driver: PgDriver, place: Place, log: Logger) {
    const current = () => this.#url;
    const prepare = (client: Client) => this.#prepare(client);
    /** Each new connection of the pool goes to the server that is current then. */
    class PoolClient extends driver.Client {
      constructor(config?: string | ClientConfig) {
        const own = typeof config === "string" ? {} : config;
        super({ ...own, ...connectionOptions(driver, place.schema), connectionString: current() });
      }
    }
    this.#driver = driver;
    this.#servers = serverUrls(place.url);
    this.#settings = sessionSettings(place.schema);
    this.schema = place.schema;
    this.where = where(place);
    this.pool = new driver.Pool({
      ...connectionOptions(driver, place.schema),
      Client: PoolClient,
      // For the pool this is the time that a read may wait for a free connection, and a busy node has many reads.
      connectionTimeoutMillis: 0,
      max: readers,
      query_timeout: answerMs,
      allowExitOnIdle: true,
      onConnect: (client) => prepare(client as Client),
    });
    // The next query opens another connection.
    this.pool.on("error", (error) => log.warn("a reading connection was lost", { error: errorText(error) }));
  }

  get #url(): string {
    return this.#servers[this.#current] ?? "";
  }

  /**
   * Tries each server once, the current one first. `lost` is called once for each connection that ends, which may be
   * before this resolves or rejects.
   */
  async connect(use: keyof typeof settings, lost: (client: Client) => void): Promise<Client> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.#connectToCurrent(use, lost);
      } catch (error) {
        this.#current = (this.#current + 1) % this.#servers.length;
        if (tried >= this.#servers.length) throw error;
      }
    }
  }

  async #connectToCurrent(use: keyof typeof settings, lost: (client: Client) => void): Promise<Client> {
    const client = new this.#driver.Client({
      ...connectionOptions(this.#driver, this.schema),
      connectionString: this.#url,
      pipeline: use === "writer",
      ...(use === "writer" ? { query_timeout: answerMs } : {}),
      ...(use === "lease" ? { query_timeout: leaseAnswerMs } : {}),
    });
    // Errors of a connection also reach the queries that wait for it.
    client.on("error", () => {});
    client.once("end", () => lost(client));
    await client.connect();
    try {
      const own = settings[use];
      if (own !== null) await client.query(this.#settings);
      await this.#requirePrimary(client);
      if (own !== null) await client.query(own);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    return client;
  }

  async #prepare(client: Client): Promise<void> {
    await client.query(this.#settings);
    await this.#requirePrimary(client);
  }

  /** Of several servers, only one is writable. */
  async #requirePrimary(client: Client): Promise<void> {
    if (this.#servers.length === 1) return;
    const { rows } = await client.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
    if (rows[0]?.standby !== false) throw notWritable(this.where, "standby");
  }
}
