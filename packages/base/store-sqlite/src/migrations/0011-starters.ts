import type { Migration } from "../migrate.ts";

/**
 * Adds starters. The starters of subagents are known. Sessions that were started as peers become their own trees with
 * their existing limits. Tasks and runs of agents take the rights of their producer or host when they resume.
 */
export const starters: Migration = {
  version: 11,
  sql: `
    ALTER TABLE sessions ADD COLUMN started_by TEXT;
    ALTER TABLE sessions ADD COLUMN root TEXT;
    UPDATE sessions SET (started_by, root) =
      (SELECT subagents.parent, subagents.root FROM subagents WHERE subagents.session = sessions.id)
      WHERE id IN (SELECT session FROM subagents);
    CREATE INDEX sessions_by_root ON sessions (root) WHERE root IS NOT NULL;
    CREATE INDEX sessions_by_starter ON sessions (started_by) WHERE started_by IS NOT NULL;

    ALTER TABLE tasks ADD COLUMN starter TEXT;
    CREATE INDEX tasks_by_root ON tasks (starter ->> '$.root')
      WHERE starter IS NOT NULL AND status IN ('pending', 'dispatched');
    ALTER TABLE runs ADD COLUMN starter TEXT;
  `,
};
