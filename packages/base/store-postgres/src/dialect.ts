import type { Dialect } from "@aegis/store/sql/sql.ts";

export const postgresDialect: Dialect = {
  inArray: "IN (SELECT json_array_elements_text(?::json))",
  eventsOf: { queue: "queue = ?", run: "run = ?", schedule: "schedule = ?" },
  lastTaskPosition: "nextval(pg_get_serial_sequence('tasks', 'position'))",
  now: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
  tell: "SELECT pg_notify(current_schema(), ?)",
};
