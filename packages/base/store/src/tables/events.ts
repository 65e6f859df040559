/** The event log: numbered without gaps and immutable. */
import type { Event, EventType, NewEvent } from "@aegis/contract/event.ts";
import type { RunId, SessionId } from "@aegis/contract/ids.ts";
import { currentData } from "../sql/old-senders.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql, Value } from "../sql/sql.ts";
import { TableReads } from "../sql/table.ts";

export type EventQuery = {
  after?: number;
  before?: number;
  session?: SessionId;
  /** Events of this queue and its tasks. */
  queue?: string;
  /** Events of this run. */
  run?: RunId;
  /** Events of this schedule and its firings. */
  schedule?: string;
  types?: readonly EventType[];
  limit: number;
  /** `newest` takes the newest `limit`; rows still come back in order of `seq`. */
  from?: "oldest" | "newest";
};

/** An event as JSON. */
export type EventText = { seq: number; json: string };

/** As stored: the event's data is JSON. */
type Stored = { seq: number; at: number; type: string; session: string | null; data: string };

/** Types of which lists show the newest event of each session. */
const indexed: ReadonlySet<EventType> = new Set(["turn.context", "changes.recorded"] as const);

export class EventReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  async list(query: EventQuery): Promise<Event[]> {
    return (await this.#select<Stored>("seq, at, type, session, data", query)).map(fromStored);
  }

  /** The same events, as texts that were not parsed. */
  async texts(query: EventQuery): Promise<EventText[]> {
    return (await this.#select<Stored>("seq, at, type, session, data", query)).map(textOf);
  }

  /** How large the data of these events is, without reading it. */
  sizes(query: EventQuery): Promise<{ seq: number; bytes: number }[]> {
    return this.#select("seq, octet_length(data) AS bytes", query);
  }

  /** The next events after a number, and those of them that this node wrote. */
  async page(after: number, limit: number): Promise<{ events: Event[]; own: Event[] }> {
    const text = "SELECT seq, at, type, session, data, node FROM events WHERE seq > ? ORDER BY seq LIMIT ?";
    const rows = await this.sql.all<Stored & { node: string | null }>(text, after, limit);
    const events = rows.map(fromStored);
    return { events, own: events.filter((_, index) => rows[index]?.node === this.sql.node) };
  }

  async lastSeq(): Promise<number> {
    return (await this.sql.get<{ last: number | null }>("SELECT max(seq) AS last FROM events"))?.last ?? 0;
  }

  async #select<Row>(columns: string, query: EventQuery): Promise<Row[]> {
    const values: Value[] = [];
    let where = "";
    const add = (condition: string, ...bound: Value[]) => {
      where += `${where === "" ? "WHERE" : " AND"} ${condition}`;
      values.push(...bound);
    };
    const { eventsOf, inArray } = this.sql.dialect;
    if (query.queue !== undefined) add(eventsOf.queue, query.queue);
    if (query.run !== undefined) add(eventsOf.run, query.run);
    if (query.schedule !== undefined) add(eventsOf.schedule, query.schedule);
    if (query.session !== undefined) add("session = ?", query.session);
    if (query.after !== undefined) add("seq > ?", query.after);
    if (query.before !== undefined) add("seq < ?", query.before);
    const [type, ...others] = query.types ?? [];
    // The literal lets the database use the partial index of the type.
    if (type !== undefined && others.length === 0 && indexed.has(type)) add(`type = '${type}'`);
    else if (query.types !== undefined) add(`type ${inArray}`, JSON.stringify(query.types));
    const newest = query.from === "newest";
    const text = `SELECT ${columns} FROM events ${where} ORDER BY seq ${newest ? "DESC" : "ASC"} LIMIT ?`;
    const rows = await this.sql.all<Row>(text, ...values, query.limit);
    return newest ? rows.reverse() : rows;
  }
}

export class EventWrites extends EventReads<RowWriter> {
  /**
   * Numbers the event after all events that exist; numbers have no gaps. It is published when the transaction commits.
   */
  async append(event: NewEvent, at: number): Promise<Event> {
    return this.sql.append(event, at);
  }
}

/** The data is JSON already. */
function textOf({ seq, at, type, session, data }: Stored): EventText {
  const head = JSON.stringify({ seq, at, type, session });
  return { seq, json: `${head.slice(0, -1)},"data":${currentData(type, data)}}` };
}

function fromStored({ seq, at, type, session, data }: Stored): Event {
  return { seq, at, type, session, data: JSON.parse(currentData(type, data)) as unknown } as Event;
}
