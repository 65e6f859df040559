/** The event log: numbered without gaps, never changed. */
import type { Event, NewEvent } from "../../contract/event.ts";
import type { EventQuery, EventTable } from "../store.ts";
import type { Sql, Value } from "./connection.ts";
import { onConstraint } from "./errors.ts";

/** As stored: what the event carries is JSON. */
type Stored = { seq: number; at: number; type: string; session: string | null; data: string };

export class SqliteEvents implements EventTable {
  readonly #sql: Sql;
  readonly #appended: Event[];

  /** What is appended is also put into `appended`, for the feed. */
  constructor(sql: Sql, appended: Event[]) {
    this.#sql = sql;
    this.#appended = appended;
  }

  async list(query: EventQuery): Promise<Event[]> {
    const values: Value[] = [];
    let where = "";
    const add = (condition: string, value: Value) => {
      where += `${where === "" ? "WHERE" : " AND"} ${condition}`;
      values.push(value);
    };
    // Both parts as the index has them, or SQLite reads the whole log.
    if (query.queue !== undefined) add("session IS NULL AND data ->> '$.queue' = ?", query.queue);
    if (query.run !== undefined) add("session IS NULL AND data ->> '$.run' = ?", query.run);
    if (query.schedule !== undefined) add("session IS NULL AND data ->> '$.schedule' = ?", query.schedule);
    if (query.session !== undefined) add("session = ?", query.session);
    if (query.after !== undefined) add("seq > ?", query.after);
    if (query.before !== undefined) add("seq < ?", query.before);
    if (query.types !== undefined) add("type IN (SELECT value FROM json_each(?))", JSON.stringify(query.types));
    const newest = query.from === "newest";
    const text = `SELECT seq, at, type, session, data FROM events ${where} ORDER BY seq ${newest ? "DESC" : "ASC"} LIMIT ?`;
    const rows = this.#sql.all<Stored>(text, ...values, query.limit);
    if (newest) rows.reverse();
    return rows.map(fromStored);
  }

  async lastSeq(): Promise<number> {
    return this.#sql.get<{ last: number | null }>("SELECT max(seq) AS last FROM events")?.last ?? 0;
  }

  async append(event: NewEvent, at: number): Promise<Event> {
    try {
      const { rowid } = this.#sql.run(
        "INSERT INTO events (at, type, session, data) VALUES (?, ?, ?, ?)",
        ...[at, event.type, event.session, JSON.stringify(event.data)],
      );
      const numbered: Event = { seq: rowid, at, ...event };
      this.#appended.push(numbered);
      return numbered;
    } catch (error) {
      throw onConstraint(error, {});
    }
  }
}

function fromStored(stored: Stored): Event {
  return { ...stored, data: JSON.parse(stored.data) as unknown } as Event;
}
