/** Examines a server: whether Aegis can use it, and what a person should know about it. */

import type { DatabaseFacts } from "@aegis/contract/api.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { mostClockDifferenceMs } from "@aegis/contract/node.ts";
import type { Client } from "pg";
import type { Connections } from "./connections.ts";
import { codeOf, notWritable } from "./errors.ts";

/** The oldest version that PostgreSQL's developers still maintain. */
const oldestServer = 14;
const probes = 5;

const factsText = `SELECT current_setting('server_version') AS version, current_user::text AS role,
  extract(epoch FROM clock_timestamp()) * 1000 AS now, current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('synchronous_standby_names') AS synchronous_standbys, current_setting('fsync') = 'on' AS fsync,
  pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only,
  pg_database_size(current_database()) AS bytes,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
  current_setting('max_connections')::bigint AS most`;

export async function readFacts(client: Pick<Client, "query">, now: () => number): Promise<DatabaseFacts> {
  const times: number[] = [];
  for (let probe = 0; probe < probes; probe += 1) {
    const from = performance.now();
    await client.query("SELECT 1");
    times.push(performance.now() - from);
  }
  const before = now();
  const { rows } = await client.query<Omit<DatabaseFacts, "connections"> & { now: number; used: number; most: number }>(
    factsText,
  );
  const after = now();
  const [row] = rows;
  if (row === undefined) throw new AegisError("internal", "the server did not describe itself");
  const { now: there, used, most, ...facts } = row;
  const median = times.toSorted((a, b) => a - b)[Math.floor(probes / 2)] ?? 0;
  return {
    ...facts,
    latency_ms: Math.round(median * 100) / 100,
    clock_difference_ms: Math.round(there - (before + after) / 2),
    connections: { used, most },
  };
}

/** Throws `unavailable` with the way to correct it. `where` names the server for people. */
export function refuseUnusable(facts: DatabaseFacts, where: string): void {
  const major = Number.parseInt(facts.version, 10);
  if (major < oldestServer)
    throw new AegisError("unavailable", `${where} is version ${major}; Aegis needs ${oldestServer} or newer`, {
      hint: "upgrade the server",
    });
  if (facts.standby) throw notWritable(where, "standby");
  if (facts.read_only) throw notWritable(where, "read-only");
  if (Math.abs(facts.clock_difference_ms) > mostClockDifferenceMs) {
    const seconds = Math.round(Math.abs(facts.clock_difference_ms) / 1000);
    const way = facts.clock_difference_ms > 0 ? "behind" : "ahead of";
    throw new AegisError("unavailable", `the clock of this machine is ${seconds} s ${way} the clock of ${where}`, {
      hint: "set both clocks with NTP; Aegis accepts a difference of one minute",
    });
  }
}

/** One that writes, one that listens, one that renews the lease, and four that read. */
const connectionsOfNode = 7;

/** Throws `unavailable` if the role or the database is limited to fewer connections than a node uses. */
export async function requireConnections(client: Pick<Client, "query">, where: string): Promise<void> {
  const { rows } = await client.query<{ what: string; most: number; remedy: string }>(
    `SELECT * FROM (
      SELECT 'role ' || rolname AS what, rolconnlimit::bigint AS most,
        format('ALTER ROLE %I CONNECTION LIMIT -1', rolname) AS remedy
      FROM pg_roles WHERE rolname = session_user AND NOT rolsuper
      UNION ALL
      SELECT 'database ' || datname, datconnlimit, format('ALTER DATABASE %I CONNECTION LIMIT -1', datname)
      FROM pg_database, pg_roles WHERE datname = current_database() AND rolname = session_user AND NOT rolsuper
    ) AS limits WHERE most BETWEEN 0 AND $1 - 1 ORDER BY most`,
    [connectionsOfNode],
  );
  const [limit] = rows;
  if (limit === undefined) return;
  const message = `${where} allows the ${limit.what} ${limit.most} connections; a node needs ${connectionsOfNode}`;
  throw new AegisError("unavailable", message, { hint: `let an administrator run: ${limit.remedy}` });
}

const notificationMs = 5_000;

/**
 * Throws `unavailable` if notifications do not arrive, as through a pooler that shares connections by transaction. Such a
 * connection serves other programs as well, so this sets nothing on it.
 */
export async function requireNotifications(connections: Connections): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const open = async () => {
    const client = await connections.connect("probe", () => {});
    scope.defer(() => client.end().catch(() => {}));
    return client;
  };
  const listener = await open();
  try {
    if (await isNotified(listener, await open(), `${connections.schema.slice(0, 50)}_probe`)) return;
  } catch (error) {
    // A standby accepts no LISTEN. The reader of its facts refuses it by name.
    if (codeOf(error) === "25006") return;
    throw error;
  }
  throw new AegisError("unavailable", `${connections.where} does not deliver notifications (LISTEN)`, {
    hint: "this is a connection pooler such as PgBouncer in transaction mode or statement mode: use the address of PostgreSQL itself, or session mode",
  });
}

async function isNotified(listener: Client, sender: Client, channel: string): Promise<boolean> {
  const arrived = Promise.withResolvers<true>();
  const token = crypto.randomUUID();
  listener.on("notification", ({ payload }) => {
    if (payload === token) arrived.resolve(true);
  });
  await listener.query(`LISTEN ${channel}`);
  await sender.query("SELECT pg_notify($1, $2)", [channel, token]);
  // A query of the listener would let a pooler hand the notification over, so nothing is asked meanwhile.
  await before(arrived.promise, notificationMs);
  // What the network held up arrives before this answer does.
  const answer = await before(listener.query(`UNLISTEN ${channel}`), notificationMs);
  if (answer === null) throw new Error("timeout expired while a notification was awaited");
  return (await before(arrived.promise, 0)) === true;
}

/** Null if the promise has not resolved in time. */
function before<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), ms);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}
