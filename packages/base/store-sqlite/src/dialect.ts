import type { Dialect } from "@aegis/store/sql/sql.ts";

export const sqliteDialect: Dialect = {
  inArray: "IN (SELECT value FROM json_each(?))",
  // Both conditions must match the index exactly, or SQLite scans the whole log.
  eventsOf: {
    queue: "session IS NULL AND data ->> '$.queue' = ?",
    run: "session IS NULL AND data ->> '$.run' = ?",
    schedule: "session IS NULL AND data ->> '$.schedule' = ?",
  },
  lastTaskPosition: "(SELECT max(position) + 1 FROM tasks)",
  now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  // An embedded database has one process.
  tell: "SELECT ?",
};
