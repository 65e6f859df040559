/** Landings: work of sessions that becomes part of a branch. */
import type { LandingId } from "@aegis/contract/ids.ts";
import type { Landing, LandingState } from "@aegis/contract/landing.ts";
import type { LandingTable } from "../store.ts";
import { insertInto, insertRow, type Sql } from "./sql.ts";

type Stored = Omit<Landing, "files"> & { files: string };

const columns = [
  ...["id", "session", "target", "how", "check", "state", "old", "tip", "next", "exit", "tree", "files", "detail"],
  ...["created_at", "ended_at"],
] as (keyof Landing)[];
const quoted = columns.map((column) => `"${column}"`);
const select = `SELECT ${quoted.join(", ")} FROM landings`;
const insert = insertInto("landings", quoted);

export class SqlLandings implements LandingTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: LandingId): Promise<Landing | null> {
    const [stored] = await this.#sql.all<Stored>(`${select} WHERE id = ?`, id);
    return stored === undefined ? null : fromStored(stored);
  }

  async counts(): Promise<Map<LandingState, number>> {
    const text = "SELECT state, count(*) AS count FROM landings GROUP BY state";
    const rows = await this.#sql.all<{ state: LandingState; count: number }>(text);
    return new Map(rows.map(({ state, count }) => [state, count]));
  }

  async list(limit: number): Promise<Landing[]> {
    return (await this.#sql.all<Stored>(`${select} ORDER BY position DESC LIMIT ?`, limit)).map(fromStored);
  }

  async open(): Promise<Landing[]> {
    return (await this.#sql.all<Stored>(`${select} WHERE ended_at IS NULL ORDER BY position`)).map(fromStored);
  }

  async insert(row: Landing): Promise<void> {
    await insertRow(this.#sql, insert, values(row), {
      taken: `the landing ${row.id} exists`,
      reference: `no session ${row.session}`,
    });
  }

  async update(row: Landing): Promise<void> {
    const text = `UPDATE landings SET ${quoted.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;
    await this.#sql.run(text, ...values(row), row.id);
  }
}

function values(row: Landing) {
  return columns.map((column) =>
    column === "files" ? JSON.stringify(row.files) : (row[column] as string | number | null),
  );
}

function fromStored(stored: Stored): Landing {
  return { ...stored, files: JSON.parse(stored.files) as string[] };
}
