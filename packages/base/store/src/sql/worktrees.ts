/** The git worktrees of sessions. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import type { WorktreeTable } from "../store.ts";
import { insertInto, insertRow, type Sql } from "./sql.ts";

const changeable = ["base", "target", "dir", "branch", "repository", "state", "port", "problem"] as const;
const select = `SELECT session, base_ref, ${changeable.join(", ")}, created_at FROM worktrees`;
const insert = insertInto("worktrees", ["session", "base_ref", "state", "created_at"]);

export class SqlWorktrees implements WorktreeTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(session: SessionId): Promise<Worktree | null> {
    return (await this.#sql.get<Worktree>(`${select} WHERE session = ?`, session)) ?? null;
  }

  async list({ all = false }: { all?: boolean } = {}): Promise<Worktree[]> {
    return this.#sql.all<Worktree>(`${select} ${all ? "" : "WHERE state <> 'removed'"} ORDER BY created_at, session`);
  }

  async insert({
    session,
    base_ref,
    created_at,
  }: Pick<Worktree, "session" | "base_ref" | "created_at">): Promise<void> {
    await insertRow(this.#sql, insert, [session, base_ref, "new", created_at], {
      taken: `the session ${session} has a worktree`,
      reference: `no session ${session}`,
    });
  }

  async update(session: SessionId, change: Parameters<WorktreeTable["update"]>[1]): Promise<void> {
    const changed = changeable.filter((column) => change[column] !== undefined);
    if (changed.length === 0) return;
    const text = `UPDATE worktrees SET ${changed.map((column) => `${column} = ?`).join(", ")} WHERE session = ?`;
    await this.#claim(session, change.dir ?? null, change.port ?? null);
    const rows = await this.#sql.run(text, ...changed.map((column) => change[column] ?? null), session);
    if (rows === 0) throw new AegisError("not_found", `the session ${session} has no worktree`);
  }

  async #claim(session: SessionId, dir: string | null, port: number | null): Promise<void> {
    const text = "SELECT 1 FROM worktrees WHERE (dir = ? OR port = ?) AND session <> ? AND state <> 'removed'";
    if ((await this.#sql.get(text, dir, port, session)) !== undefined)
      throw new AegisError("conflict", "another worktree has this folder or this port");
  }
}
