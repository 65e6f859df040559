import type { Migration } from "../migrate.ts";

/** The states of working trees at the beginning and the end of turns, and the worktrees of sessions. */
export const workingCopies: Migration = {
  version: 16,
  sql: `
    CREATE TABLE boundaries (
      position INTEGER PRIMARY KEY,
      folder TEXT NOT NULL,
      session TEXT NOT NULL REFERENCES sessions (id),
      turn TEXT NOT NULL REFERENCES turns (id),
      edge TEXT NOT NULL,
      tree TEXT,
      head TEXT,
      problem TEXT,
      detail TEXT NOT NULL,
      at INTEGER NOT NULL,
      UNIQUE (turn, edge)
    ) STRICT;
    CREATE INDEX boundaries_by_folder ON boundaries (folder, position);
    CREATE TABLE worktrees (
      session TEXT PRIMARY KEY REFERENCES sessions (id),
      base_ref TEXT,
      base TEXT,
      target TEXT,
      dir TEXT,
      branch TEXT,
      repository TEXT,
      state TEXT NOT NULL,
      port INTEGER,
      problem TEXT,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX worktrees_by_dir ON worktrees (dir) WHERE state <> 'removed';
    CREATE UNIQUE INDEX worktrees_by_port ON worktrees (port) WHERE state <> 'removed';
    CREATE INDEX boundaries_by_session ON boundaries (session, position);
  `,
};
