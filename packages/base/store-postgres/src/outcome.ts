/**
 * Determines the outcome of a transaction whose answer to COMMIT was lost. The server knows (`pg_xact_status`), unless
 * it is a standby that was promoted since: it reuses the ids of transactions that it did not receive.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Backoff } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { retry } from "@aegis/lib/retry.ts";
import { OutcomeUnknownError } from "@aegis/store/transact.ts";
import type { Client } from "pg";
import type { Connections } from "./connections.ts";
import { codeOf, isTransient } from "./errors.ts";
import type { Membership } from "./membership.ts";
import { encodeText } from "./text.ts";

const backoff: Backoff = { firstMs: 50, longestMs: 1_000 };
/** Names the history of the server: it changes with each promotion of a standby. */
const timelineText = "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline";

export type Fate = "committed" | "aborted" | AegisError;

export type OutcomeOptions = {
  connections: Connections;
  membership: Membership | null;
  clock: Clock;
  /** Aborts when nothing waits for the server any longer. */
  ending: AbortSignal;
};

/** Null if the server does not tell: its answers are then taken as they are. */
export async function timelineOf(client: Client): Promise<string | null> {
  try {
    const { rows } = await client.query<{ timeline: string }>(`SELECT ${timelineText}`);
    return rows[0]?.timeline ?? null;
  } catch (error) {
    if (isTransient(error)) throw error;
    return null;
  }
}

/** Asks on another connection until the answer is known, or the store is closed. `events` are those it stored. */
export async function fateOf(
  { id, timeline }: { id: string; timeline: string | null },
  events: readonly Event[],
  options: OutcomeOptions,
): Promise<Fate> {
  const { connections, clock, ending } = options;
  const text = `SELECT pg_xact_status($1::xid8) AS status${timeline === null ? "" : `, ${timelineText}`}`;
  const ask = async (): Promise<Fate> => {
    const { rows } = await connections.pool.query<{ status: string | null; timeline?: string }>(text, [id]);
    const [row] = rows;
    if (row?.status === "committed" && (row.timeline ?? null) !== timeline) return isStored(events, options);
    if (row?.status === "committed" || row?.status === "aborted") return row.status;
    throw new AegisError("internal", "the transaction has not ended yet");
  };
  // The server does not know the id: it is a standby that was promoted without this transaction.
  const isUnknown = (error: unknown) => codeOf(error) === "22023";
  const mayRetry = (error: unknown) => !isUnknown(error);
  return retry(ask, { backoff, clock, signal: ending, mayRetry }).catch((error: unknown) =>
    isUnknown(error)
      ? "aborted"
      : new AegisError("internal", `the store was closed before ${connections.where} could tell the outcome`),
  );
}

/** What a transaction stored is the only proof of its commit. */
async function isStored(events: readonly Event[], { connections, membership }: OutcomeOptions): Promise<Fate> {
  const last = events.at(-1);
  if (last === undefined)
    return new OutcomeUnknownError(`${connections.where} was promoted and cannot tell the outcome of a commit`);
  const { seq, at, type, session, data } = last;
  const text = `SELECT 1 FROM events WHERE seq = $1 AND at = $2 AND type = $3 AND data = $4
    AND session IS NOT DISTINCT FROM $5 AND node IS NOT DISTINCT FROM $6`;
  const values = [seq, at, type, encodeText(JSON.stringify(data)), session, membership?.node ?? null];
  const { rows } = await connections.pool.query(text, values);
  return rows.length > 0 ? "committed" : "aborted";
}
