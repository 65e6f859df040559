/** Lists the pending work in a database that a daemon would resume, for a person who decides whether to adopt it. */
import { Connection } from "./connection.ts";
import { DamageError } from "./errors.ts";
import { applicationId, migrate } from "./migrate.ts";
import { migrations } from "./migrations/list.ts";
import { schemaDifference } from "./schema.ts";

type WaitingItem = { id: string; title: string; text: string };
export type Waiting = { kind: WaitingKind; total: number; items: WaitingItem[] };

/** `problem` states why the database cannot be used; nothing is listed then. */
export type DatabaseContents = { problem: string | null; waiting: Waiting[] };

/** Longer texts are truncated with a note. */
const textLength = 4_000;

type Query = { kind: string; from: string; id: string; title: string; text: string };

const queries = [
  {
    kind: "runs",
    from: "runs WHERE ended_at IS NULL",
    id: "id",
    title: `workflow || ' (' || status || ')' || coalesce(', at ' || (SELECT method || ' ' || label FROM steps
      WHERE run = runs.id AND steps.ended_at IS NULL ORDER BY steps.position DESC LIMIT 1), '')`,
    text: "args",
  },
  {
    kind: "tasks",
    from: "tasks WHERE ended_at IS NULL",
    id: "id",
    title: "queue || ' (' || status || ')'",
    text: "payload",
  },
  {
    kind: "messages",
    from: "messages WHERE status = 'pending' OR turn IN (SELECT id FROM turns WHERE ended_at IS NULL)",
    id: "id",
    title:
      "'to ' || coalesce((SELECT handle FROM sessions WHERE sessions.id = messages.session), '?') || ' from ' || sender",
    text: "body",
  },
  { kind: "schedules", from: "schedules", id: "name", title: "name", text: "settings" },
  {
    kind: "firings",
    from: "firings WHERE ended_at IS NULL",
    id: "id",
    title: "schedule || ' (' || status || ')'",
    text: "action",
  },
  {
    kind: "subagents",
    from: "subagents WHERE status = 'running'",
    id: "run_id",
    title: "label || ' (' || agent || ')'",
    text: "task",
  },
  { kind: "broadcasts", from: "broadcasts WHERE settled_at IS NULL", id: "id", title: "sender", text: "objective" },
  {
    kind: "sessions",
    from: "sessions WHERE closed_at IS NULL",
    id: "id",
    title: "handle || ' (' || agent || ', ' || harness || ', ' || state || ')'",
    text: "title",
  },
  { kind: "asks", from: "asks WHERE status = 'open'", id: "id", title: "coalesce(tool, kind)", text: "question" },
  {
    kind: "approvals",
    from: `asks WHERE (choice = 'always' OR (choice = 'allow' AND used = 0))
      AND session IN (SELECT id FROM sessions WHERE closed_at IS NULL)`,
    id: "id",
    title: "choice || ' ' || coalesce(tool, kind)",
    text: "question",
  },
  { kind: "queues", from: "queues WHERE settings IS NOT NULL", id: "name", title: "name", text: "settings" },
] as const satisfies readonly Query[];

type WaitingKind = (typeof queries)[number]["kind"];

/**
 * Reads a copy that the caller owns, and migrates it to the newest schema. Uses no content before the file is known to
 * be intact and its schema matches exactly.
 */
export function readContents(copy: string, limit: number): DatabaseContents {
  try {
    const connection = new Connection(copy);
    try {
      const problem = findProblem(connection);
      if (problem !== null) return { problem, waiting: [] };
      migrate(connection, migrations);
      return { problem: null, waiting: queries.map((query) => waitingOf(connection, query, limit)) };
    } finally {
      connection.close();
    }
  } catch (error) {
    if (error instanceof DamageError) return { problem: `it is damaged (${error.message})`, waiting: [] };
    throw error;
  }
}

function findProblem(connection: Connection): string | null {
  connection.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
  const application = connection.get<{ application_id: number }>("PRAGMA application_id")?.application_id;
  if (application !== applicationId) return "it is a database of another program";
  const check = connection.get<{ quick_check: string }>("PRAGMA quick_check(1)")?.quick_check;
  return check === "ok" ? schemaDifference(connection) : `it is damaged (${check})`;
}

function waitingOf(connection: Connection, query: (typeof queries)[number], limit: number): Waiting {
  const { kind, from, id, title, text } = query;
  const total = connection.get<{ count: number }>(`SELECT count(*) AS count FROM ${from}`)?.count ?? 0;
  const cut = (column: string) =>
    `CASE WHEN length(${column}) > ${textLength} THEN substr(${column}, 1, ${textLength}) || '… [cut]' ELSE ${column} END`;
  const columns = `${cut(id)} AS id, ${cut(title)} AS title, ${cut(text)} AS text`;
  return { kind, total, items: connection.all<WaitingItem>(`SELECT ${columns} FROM ${from} LIMIT ?`, limit) };
}
