/** Reads the readable events of a damaged database. Changes nothing in it. */
import { Connection } from "./connection.ts";

/** As stored. */
export type StoredEvent = { seq: number; at: number; type: string; session: string; data: string };

const pageSize = 200;
const select = "SELECT seq, at, type, session, data FROM events NOT INDEXED WHERE session IS NOT NULL";

/**
 * Reads from the oldest event up to the first damage, then from the newest event down to the last damage. Yields
 * nothing if SQLite cannot open the file.
 */
export function* readDamagedEvents(path: string): Generator<StoredEvent, void, undefined> {
  const connection = tryTo(() => new Connection(path, { readOnly: true }));
  if (connection === null) return;
  try {
    let oldest = 0;
    const up = (after: number) =>
      connection.all<StoredEvent>(`${select} AND seq > ? ORDER BY seq LIMIT ?`, after, pageSize);
    for (let page = tryTo(() => up(0)); page !== null; page = tryTo(() => up(oldest))) {
      yield* page;
      if (page.length < pageSize) return;
      oldest = page.at(-1)?.seq ?? oldest;
    }
    const down = (before: number) =>
      connection.all<StoredEvent>(
        `${select} AND seq < ? AND seq > ? ORDER BY seq DESC LIMIT ?`,
        ...[before, oldest, pageSize],
      );
    let newest = Number.MAX_SAFE_INTEGER;
    for (let page = tryTo(() => down(newest)); page !== null && page.length > 0; page = tryTo(() => down(newest))) {
      yield* page;
      newest = page.at(-1)?.seq ?? 0;
    }
  } finally {
    connection.close();
  }
}

/** Damage appears as an error of the statement that reads it. */
function tryTo<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
