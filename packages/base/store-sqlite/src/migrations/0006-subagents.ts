import type { Migration } from "../migrate.ts";

export const subagents: Migration = {
  version: 6,
  sql: `
    ALTER TABLE sessions ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN limits TEXT;

    CREATE TABLE subagents (
      position INTEGER PRIMARY KEY,
      run_id TEXT NOT NULL UNIQUE,
      session TEXT NOT NULL UNIQUE REFERENCES sessions (id),
      parent TEXT NOT NULL REFERENCES sessions (id),
      root TEXT NOT NULL REFERENCES sessions (id),
      depth INTEGER NOT NULL,
      agent TEXT NOT NULL,
      label TEXT NOT NULL,
      model TEXT,
      cleanup TEXT NOT NULL,
      status TEXT NOT NULL,
      timeout REAL NOT NULL,
      deadline INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      ended_at INTEGER,
      archived_at INTEGER,
      announced_to TEXT,
      announcement TEXT,
      chain TEXT,
      hops INTEGER NOT NULL,
      error TEXT,
      result TEXT,
      task TEXT NOT NULL
    ) STRICT;
    CREATE INDEX subagents_by_parent ON subagents (parent);
    CREATE INDEX subagents_by_root ON subagents (root);
    CREATE INDEX subagents_running ON subagents (position) WHERE status = 'running';
    CREATE INDEX subagents_listed ON subagents (ended_at) WHERE archived_at IS NULL;
    CREATE INDEX subagents_announced ON subagents (announcement) WHERE announcement IS NOT NULL;

    CREATE TABLE pool (
      session TEXT PRIMARY KEY REFERENCES sessions (id),
      key TEXT NOT NULL,
      source TEXT NOT NULL,
      plugin TEXT,
      slug TEXT NOT NULL,
      config_hash TEXT NOT NULL,
      uses INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      last_used_at INTEGER NOT NULL,
      lease TEXT,
      holder TEXT,
      leased_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pool_by_agent ON pool (slug, config_hash);
  `,
};
