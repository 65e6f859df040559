/**
 * One database transaction, which units use one after another. It sends as few statements as the isolation of the
 * units allows: a savepoint only where a failed unit could undo another one's work, and all events in one statement.
 */

import type { Event } from "@aegis/contract/event.ts";
import type { Value } from "@aegis/store/sql/sql.ts";
import type { Client, QueryResult } from "pg";
import { eventKeys } from "./event-keys.ts";
import type { Statements } from "./statements.ts";
import { encodeText } from "./text.ts";

const appendText = `INSERT INTO events (seq, at, type, session, data, queue, run, schedule, node)
  SELECT *, $9::text FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[])`;

export type TransactionOptions = {
  client: Client;
  statements: Statements;
  /** PostgreSQL's id of it. */
  id: string;
  /** The number of the last event before it. */
  seq: number;
  node: string | null;
  /** The history of the server; null if it is not known. */
  timeline: string | null;
};

/** An event with its data as it is stored. */
type Row = { event: Event; data: string };

export class Transaction {
  readonly id: string;
  readonly node: string | null;
  readonly timeline: string | null;
  readonly #client: Client;
  readonly #statements: Statements;
  /** The number of the last event, including those of the unit that runs. */
  #seq: number;
  /** Events that no statement has stored yet. */
  #unsent: Row[] = [];
  /** Events that were stored since the running unit began, also those of earlier units. */
  #sentSince: Row[] = [];
  /** The last event before the running unit. */
  #seqBefore: number;
  /** Whether an earlier unit wrote something. */
  #holdsWork = false;
  /** Whether the savepoint exists, and whether a unit wrote since it was set. */
  #savepoint: "none" | "fresh" | "used" = "none";

  constructor({ client, statements, id, seq, node, timeline }: TransactionOptions) {
    this.#client = client;
    this.#statements = statements;
    this.id = id;
    this.#seq = seq;
    this.#seqBefore = seq;
    this.node = node;
    this.timeline = timeline;
  }

  get seq(): number {
    return this.#seq;
  }

  get holdsWork(): boolean {
    return this.#holdsWork;
  }

  /** Whether a failed unit can be undone without the transaction. */
  get hasSavepoint(): boolean {
    return this.#savepoint !== "none";
  }

  /** Sends a statement of the shared SQL. */
  send(text: string, values: readonly Value[]): Promise<QueryResult> {
    return this.#client.query(this.#statements.bind(text, values));
  }

  /** Sends a statement of its own, without values. */
  sendPlain(text: string): Promise<QueryResult> {
    return this.#client.query(text);
  }

  /**
   * Begins the part of a unit, before its first statement. Without earlier work the whole transaction can be rolled
   * back instead. `isNeeded` sets the savepoint in any case. Returns the answer, or null if nothing was sent.
   */
  enterUnit(isNeeded: boolean): Promise<unknown> | null {
    if (this.#savepoint === "fresh" || (!this.#holdsWork && !isNeeded)) return null;
    const text = this.#savepoint === "none" ? "SAVEPOINT unit" : "RELEASE unit; SAVEPOINT unit";
    this.#savepoint = "fresh";
    return this.sendPlain(text);
  }

  append(event: Omit<Event, "seq">, data: string): Event {
    this.#seq += 1;
    const numbered = { seq: this.#seq, ...event } as Event;
    this.#unsent.push({ event: numbered, data });
    return numbered;
  }

  /** Stores the events that are not stored yet. Returns the answer, or null if there are none. */
  storeEvents(): Promise<unknown> | null {
    const rows = this.#unsent;
    if (rows.length === 0) return null;
    this.#unsent = [];
    this.#sentSince.push(...rows);
    const column = (of: (row: Row) => Value) => rows.map((row) => encoded(of(row)));
    const keys = rows.map(({ event }) => eventKeys(event.session === null ? event.data : {}));
    const values = [
      column(({ event }) => event.seq),
      column(({ event }) => event.at),
      column(({ event }) => event.type),
      column(({ event }) => event.session),
      column(({ data }) => data),
      keys.map(({ queue }) => encoded(queue)),
      keys.map(({ run }) => encoded(run)),
      keys.map(({ schedule }) => encoded(schedule)),
      this.node,
    ];
    return this.#client.query({ name: "aegis_append", text: appendText, values });
  }

  /**
   * Tells all nodes of the last event. Is sent right behind COMMIT and not before it: a commit with a notification holds
   * a lock of the whole server until it is on disk, so commits of all projects would wait for each other. The look of
   * the feed makes good for a notification that is lost.
   */
  tell(channel: string): void {
    const values = [channel, String(this.#seq)];
    this.#client.query({ name: "aegis_notify", text: "SELECT pg_notify($1, $2)", values }).catch(() => {});
  }

  /** The unit ended well. */
  keep(hasWritten: boolean): void {
    this.#holdsWork ||= hasWritten || this.#seq > this.#seqBefore;
    if (hasWritten && this.#savepoint === "fresh") this.#savepoint = "used";
    this.#sentSince = [];
    this.#seqBefore = this.#seq;
  }

  /** Forgets the events of the unit, which failed. `isRolledBack` says that its statements were undone. */
  forget(isRolledBack: boolean): void {
    const isEarlier = ({ event }: Row) => event.seq <= this.#seqBefore;
    const lost = isRolledBack ? this.#sentSince : [];
    this.#unsent = [...lost, ...this.#unsent].filter(isEarlier);
    this.#sentSince = [];
    this.#seq = this.#seqBefore;
  }
}

function encoded(value: Value): Value {
  return typeof value === "string" ? encodeText(value) : value;
}
