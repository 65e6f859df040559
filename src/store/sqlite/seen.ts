/** How far each client has read each session. */
import type { SessionId } from "../../contract/ids.ts";
import type { SeenTable } from "../store.ts";
import type { Sql } from "./connection.ts";
import { onConstraint } from "./errors.ts";

const set = `INSERT INTO seen (client, session, seq) VALUES (?, ?, ?)
  ON CONFLICT (client, session) DO UPDATE SET seq = max(seq, excluded.seq)`;

export class SqliteSeen implements SeenTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(client: string, session: SessionId): Promise<number> {
    const text = "SELECT seq FROM seen WHERE client = ? AND session = ?";
    return this.#sql.get<{ seq: number }>(text, client, session)?.seq ?? 0;
  }

  async set(client: string, session: SessionId, seq: number): Promise<void> {
    try {
      this.#sql.run(set, client, session, seq);
    } catch (error) {
      throw onConstraint(error, { reference: `no session ${session} for ${client} to have read` });
    }
  }
}
