/**
 * One database transaction, which units use one after another. It sends as few statements as the isolation of the
 * units allows: one savepoint for many units, and all events in one statement. To undo a unit, it rolls back to the
 * savepoint and repeats the writes of the earlier units, which give the same results under the project's lock.
 */

import type { Event } from "@aegis/contract/event.ts";
import type { Value } from "@aegis/store/sql/sql.ts";
import type { Client, QueryResult } from "pg";
import { type EarlyRead, EarlyReads } from "./early-reads.ts";
import { isLostConnection } from "./errors.ts";
import { eventKeys } from "./event-keys.ts";
import { areDisjoint, type Footprint, type Shape, shapeOf } from "./footprint.ts";
import { encoded, type Statements } from "./statements.ts";

const appendText = `INSERT INTO events (seq, at, type, session, data, queue, run, schedule, node)
  SELECT *, $9::text FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[])`;

const appendShape: Shape = shapeOf("INSERT INTO events (session, type) VALUES (?, ?)");

export type TransactionOptions = {
  client: Client;
  statements: Statements;
  node: string | null;
  /** The history of the server; null if it is not known. */
  timeline: string | null;
  /** Whether several units may use it. */
  isShared: boolean;
  /** Whether units may go on before the answers to their inserts are there. */
  mayPresume: boolean;
};

/** An event with its data as it is stored. */
type Row = { event: Event; data: string };
/** Events are written without a text: those that are undone are stored again with the others. */
type Write = Footprint & { readonly text: string | null };

export class Transaction {
  readonly node: string | null;
  readonly timeline: string | null;
  /** Reads of units whose turn has not come. */
  readonly early: EarlyReads;
  readonly #client: Client;
  readonly #statements: Statements;
  readonly #isShared: boolean;
  readonly mayPresume: boolean;
  /** The answers to presumed inserts: whether each has inserted its row, or why it failed. */
  readonly #presumed: Promise<boolean | { error: unknown }>[] = [];
  #id = "";
  /** The number of the last event, including those of the unit that runs. */
  #seq = 0;
  /** The last event before the running unit. */
  #seqBefore = 0;
  /** Events that no statement has stored yet. */
  #unsent: Row[] = [];
  /** Events that were stored since the savepoint. */
  #sentSince: Row[] = [];
  /** Everything that units wrote, in order. */
  readonly #written: Write[] = [];
  /** How much of it was written before the savepoint, and before the running unit. */
  #writtenAtPoint = 0;
  #writtenBefore = 0;
  /** Whether an earlier unit wrote something. */
  #holdsWork = false;
  #hasPoint = false;
  #hasAttemptPoint = false;
  /** Whether a unit read what was written since the savepoint: these writes must not be repeated. */
  #wasRead = false;
  /** Whether writes since the savepoint were repeated: they are not repeated once more. */
  #wasRewound = false;

  constructor({ client, statements, node, timeline, isShared, mayPresume }: TransactionOptions) {
    this.#client = client;
    this.#statements = statements;
    this.early = new EarlyReads(statements);
    this.#isShared = isShared;
    this.mayPresume = mayPresume;
    this.node = node;
    this.timeline = timeline;
  }

  /** PostgreSQL's id of it. */
  get id(): string {
    return this.#id;
  }

  get holdsWork(): boolean {
    return this.#holdsWork;
  }

  /** Whether a failed unit can be undone without the transaction. */
  get hasSavepoint(): boolean {
    return this.#hasPoint;
  }

  /** `seq` is the number of the last event before it. */
  begun({ id, seq }: { id: string; seq: number }): void {
    this.#id = id;
    this.#seq = seq;
    this.#seqBefore = seq;
  }

  /** What is sent meanwhile goes to the server in one piece. */
  burst<T>(send: () => T): T {
    const { stream } = this.#client.connection;
    stream.cork();
    try {
      return send();
    } finally {
      stream.uncork();
    }
  }

  /**
   * Sends an insert whose unit does not wait for the answer. What is presumed until the units wait for an answer goes to
   * the server in one piece.
   */
  presume(send: () => Promise<QueryResult>): void {
    const { stream } = this.#client.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
    this.#await(send().then(({ rowCount }) => rowCount === 1));
  }

  /** Stores the events that are not stored yet. Their answer counts as that of a presumed insert. */
  presumeEvents(): void {
    const stored = this.storeEvents();
    if (stored !== null) this.#await(stored.then(() => true));
  }

  #await(isRight: Promise<boolean>): void {
    this.#presumed.push(isRight.catch((error: unknown) => ({ error })));
  }

  get hasPresumed(): boolean {
    return this.#presumed.length > 0;
  }

  /** Resolves when the answers to all presumed inserts are there. Rejects if the connection was lost before. */
  async isPresumedRightly(): Promise<boolean> {
    const answers = await Promise.all(this.#presumed.splice(0));
    const wrong = answers.find((answer) => answer !== true);
    if (typeof wrong === "object" && isLostConnection(wrong.error)) throw wrong.error;
    return wrong === undefined;
  }

  /** Whether an early read of this transaction would get the same answer now. */
  isCurrent(read: EarlyRead): boolean {
    return this.#written.every((write) => areDisjoint(read, write));
  }

  /** Sends a statement of the shared SQL. */
  send(text: string, values: readonly Value[]): Promise<QueryResult> {
    const shape = this.#statements.shape(text);
    if (!shape.isRead) this.#written.push({ shape, values, text });
    else if (!this.#wasRead) this.#wasRead = !this.#isDisjointFromRecent({ shape, values });
    return this.#client.query(this.#statements.bind(text, values));
  }

  /** Sends a statement of its own, without values. */
  sendPlain(text: string): Promise<QueryResult> {
    return this.#client.query(text);
  }

  /**
   * Makes sure that the running unit, which has written nothing yet, can be undone. Without earlier work the whole
   * transaction can be rolled back instead. Returns the answer, or null if nothing was sent.
   */
  protect(isNeeded: boolean): Promise<unknown> | null {
    if (this.#hasPoint ? !this.#wasRead && !this.#wasRewound : !this.#holdsWork && !(isNeeded && this.#isShared))
      return null;
    return this.#setPoint();
  }

  /**
   * Prepares for a statement that may fail. `isFirst` says that the running unit has written nothing yet. Returns how to
   * go back to before it, and the answer to what was sent.
   */
  protectAttempt(isFirst: boolean): { back: () => Promise<unknown>; sent: Promise<unknown> | null } {
    const mayRewind = this.#hasPoint && !this.#wasRead;
    if (mayRewind || isFirst) {
      const sent = mayRewind ? null : this.#setPoint();
      const count = this.#written.length;
      return { back: () => this.#rewind(count), sent };
    }
    const sent = this.sendPlain(this.#hasAttemptPoint ? "RELEASE attempt; SAVEPOINT attempt" : "SAVEPOINT attempt");
    this.#hasAttemptPoint = true;
    const count = this.#written.length;
    const back = () => {
      this.#written.length = count;
      return this.sendPlain("ROLLBACK TO attempt");
    };
    return { back, sent };
  }

  append(event: Omit<Event, "seq">, data: string): Event {
    this.#seq += 1;
    const numbered = { seq: this.#seq, ...event } as Event;
    this.#unsent.push({ event: numbered, data });
    this.#written.push({ shape: appendShape, values: [event.session, event.type], text: null });
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
    this.#seqBefore = this.#seq;
    this.#writtenBefore = this.#written.length;
  }

  /** Forgets the events of the unit, which failed and sent nothing that must be undone. */
  forget(): void {
    this.#written.length = this.#writtenBefore;
    this.#seq = this.#seqBefore;
    this.#unsent = this.#unsent.filter(({ event }) => event.seq <= this.#seq);
  }

  /** Undoes the failed unit alone. Needs the savepoint. */
  async undo(): Promise<void> {
    const undone = this.#rewind(this.#writtenBefore);
    this.forget();
    await undone;
  }

  #setPoint(): Promise<unknown> {
    const text = this.#hasPoint ? "RELEASE unit; SAVEPOINT unit" : "SAVEPOINT unit";
    this.#hasPoint = true;
    this.#hasAttemptPoint = false;
    this.#wasRead = false;
    this.#wasRewound = false;
    this.#sentSince = [];
    this.#writtenAtPoint = this.#written.length;
    return this.sendPlain(text);
  }

  /** Goes back to the savepoint and repeats the writes after it, up to this number. */
  #rewind(count: number): Promise<unknown> {
    this.#written.length = count;
    this.#hasAttemptPoint = false;
    this.#wasRewound = true;
    this.#unsent = [...this.#sentSince, ...this.#unsent];
    this.#sentSince = [];
    return this.burst(() => {
      const answers: Promise<unknown>[] = [this.sendPlain("ROLLBACK TO unit")];
      for (const { text, values } of this.#written.slice(this.#writtenAtPoint))
        if (text !== null) answers.push(this.#client.query(this.#statements.bind(text, values)));
      return Promise.all(answers);
    });
  }

  #isDisjointFromRecent(read: Footprint): boolean {
    for (let at = this.#writtenAtPoint; at < this.#written.length; at += 1) {
      const write = this.#written[at];
      if (write !== undefined && !areDisjoint(read, write)) return false;
    }
    return true;
  }
}
