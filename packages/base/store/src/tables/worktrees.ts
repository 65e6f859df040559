/** The git worktrees of sessions. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

const table = new Table<Worktree>("worktrees", {
  session: "plain",
  base_ref: "name",
  base: "name",
  target: "name",
  dir: "name",
  branch: "name",
  repository: "name",
  state: "plain",
  port: "plain",
  problem: "text",
  created_at: "plain",
});

export class WorktreeReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(session: SessionId): Promise<Worktree | null> {
    return table.one(this.sql, "WHERE session = ?", session);
  }

  /** Oldest first; without removed ones unless `all`. */
  list({ all = false }: { all?: boolean } = {}): Promise<Worktree[]> {
    return table.all(this.sql, `${all ? "" : "WHERE state <> 'removed'"} ORDER BY created_at, session`);
  }
}

export class WorktreeWrites extends WorktreeReads<RowWriter> {
  /** In the state `new`. */
  async insert({
    session,
    base_ref,
    created_at,
  }: Pick<Worktree, "session" | "base_ref" | "created_at">): Promise<void> {
    const nothing = { base: null, target: null, dir: null, branch: null, repository: null, port: null, problem: null };
    await this.sql.insert(
      table,
      { ...nothing, session, base_ref, state: "new", created_at },
      {
        taken: `the session ${session} has a worktree`,
        reference: `no session ${session}`,
      },
    );
  }

  /** Throws `conflict` if another worktree has the folder or the port. */
  async update(
    session: SessionId,
    change: Partial<Omit<Worktree, "session" | "base_ref" | "created_at">>,
  ): Promise<void> {
    await this.#claim(session, change.dir ?? null, change.port ?? null);
    if (!(await this.sql.update(table, change, ["session = ?", session])))
      throw new AegisError("not_found", `the session ${session} has no worktree`);
  }

  async #claim(session: SessionId, dir: string | null, port: number | null): Promise<void> {
    const text = "SELECT 1 FROM worktrees WHERE (dir = ? OR port = ?) AND session <> ? AND state <> 'removed'";
    if ((await this.sql.get(text, dir, port, session)) !== undefined)
      throw new AegisError("conflict", "another worktree has this folder or this port");
  }
}
