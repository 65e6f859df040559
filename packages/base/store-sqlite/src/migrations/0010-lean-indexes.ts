import type { Migration } from "../migrate.ts";

/**
 * Makes indexes partial. Every page that a commit touches is written and synced. Before, an event of a run also had
 * entries in the indexes of queues and schedules, and an ended step had an entry in an index that was only used for
 * counting.
 */
export const leanIndexes: Migration = {
  version: 10,
  sql: `
    DROP INDEX events_by_queue;
    DROP INDEX events_by_run;
    DROP INDEX events_by_schedule;
    CREATE INDEX events_by_queue ON events (data ->> '$.queue', seq)
      WHERE session IS NULL AND data ->> '$.queue' IS NOT NULL;
    CREATE INDEX events_by_run ON events (data ->> '$.run', seq)
      WHERE session IS NULL AND data ->> '$.run' IS NOT NULL;
    CREATE INDEX events_by_schedule ON events (data ->> '$.schedule', seq)
      WHERE session IS NULL AND data ->> '$.schedule' IS NOT NULL;
    DROP INDEX steps_by_end;
  `,
};
