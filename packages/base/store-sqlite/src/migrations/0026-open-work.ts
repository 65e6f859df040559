import type { Migration } from "../migrate.ts";

const sums = "input, cache_read, cache_write, output, cost";
const keys = sums.split(", ");

const table = (real: string, text: string, integer: string) => `
  CREATE TABLE session_usage (
    session ${text} PRIMARY KEY REFERENCES sessions (id),
    turns ${integer} NOT NULL,
    ${keys.map((key) => `${key} ${real}`).join(", ")},
    cost_unknown ${integer} NOT NULL
  )`;

/** A sum stays null until one of its turns has a value. */
const addTurn = (path: string, real: string) => `
  INSERT INTO session_usage (session, turns, ${sums}, cost_unknown)
    VALUES (NEW.session, 1, ${keys.map((key) => `CAST(NEW.usage ->> '${path}${key}' AS ${real})`).join(", ")},
      CASE WHEN NEW.usage ->> '${path}cost' IS NULL THEN 1 ELSE 0 END)
    ON CONFLICT (session) DO UPDATE SET turns = session_usage.turns + 1,
      ${keys.map((key) => `${key} = coalesce(session_usage.${key} + excluded.${key}, session_usage.${key}, excluded.${key})`).join(", ")},
      cost_unknown = session_usage.cost_unknown + excluded.cost_unknown;`;

const addEarlier = (path: string, real: string) => `
  INSERT INTO session_usage (session, turns, ${sums}, cost_unknown)
    SELECT session, count(*), ${keys.map((key) => `sum(CAST(usage ->> '${path}${key}' AS ${real}))`).join(", ")},
      count(CASE WHEN usage ->> '${path}cost' IS NULL THEN 1 END)
    FROM turns WHERE usage IS NOT NULL AND ended_at IS NOT NULL GROUP BY session;`;

const spent = "OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.usage IS NOT NULL";

const indexes = `
  CREATE INDEX sessions_open ON sessions (position) WHERE closed_at IS NULL;
  CREATE INDEX sessions_closed ON sessions (closed_at) WHERE closed_at IS NOT NULL;
  CREATE INDEX turns_open_of ON turns (session) WHERE ended_at IS NULL;
  CREATE INDEX messages_undelivered ON messages (position) WHERE status IN ('refused', 'lost');
  CREATE INDEX pool_held ON pool (holder) WHERE holder IS NOT NULL;
  CREATE INDEX subagents_shown ON subagents (position) WHERE archived_at IS NULL;
  CREATE INDEX events_context ON events (session, seq) WHERE type = 'turn.context';
  CREATE INDEX events_changes ON events (session, seq) WHERE type = 'changes.recorded';`;

/**
 * Lets lists of open work read open work only. `session_usage` holds the sums of the ended turns of each session. The
 * database keeps it, because a node of an earlier version also ends turns.
 */
export const openWork: Migration = {
  version: 26,
  sql: `${table("REAL", "TEXT", "INTEGER")} STRICT, WITHOUT ROWID;
  ${addEarlier("$.", "REAL")}
  CREATE TRIGGER turns_spent AFTER UPDATE OF ended_at ON turns WHEN ${spent} BEGIN ${addTurn("$.", "REAL")} END;
  ${indexes}`,
  postgres: `${table("DOUBLE PRECISION", 'TEXT COLLATE "C"', "BIGINT")};
  ${addEarlier("", "DOUBLE PRECISION")}
  CREATE FUNCTION add_turn_usage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${addTurn("", "DOUBLE PRECISION")} RETURN NULL; END $$;
  CREATE TRIGGER turns_spent AFTER UPDATE OF ended_at ON turns FOR EACH ROW WHEN (${spent})
    EXECUTE FUNCTION add_turn_usage();
  ${indexes}`,
};
