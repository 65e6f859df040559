/** How far each client has read each session. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import { onConstraint, type ReadSql } from "../sql/sql.ts";
import { TableReads } from "../sql/table.ts";

const set = `INSERT INTO seen (client, session, seq) VALUES (?, ?, ?)
  ON CONFLICT (client, session) DO UPDATE SET
    seq = CASE WHEN excluded.seq > seen.seq THEN excluded.seq ELSE seen.seq END`;

export class SeenReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  /** The number up to which the client has read; 0 when it never said. */
  async get(client: string, session: SessionId): Promise<number> {
    const text = "SELECT seq FROM seen WHERE client = ? AND session = ?";
    return (await this.sql.get<{ seq: number }>(text, client, session))?.seq ?? 0;
  }
}

export class SeenWrites extends SeenReads<RowWriter> {
  /** Never moves back. */
  async set(client: string, session: SessionId, seq: number): Promise<void> {
    try {
      await this.sql.attempt(set, client, session, seq);
    } catch (error) {
      throw onConstraint(error, `no session ${session} for ${client} to have read`);
    }
  }
}
