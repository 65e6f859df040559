/** Groups and their members. At most one live group has a given name. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Group } from "@aegis/contract/group.ts";
import type { GroupId, SessionId } from "@aegis/contract/ids.ts";
import type { GroupTable } from "../store.ts";
import { insertInto, insertRow, type Sql } from "./sql.ts";

const columns = ["id", "name", "reducer", "timeout", "created_at", "dissolved_at"] as const;
const select = `SELECT ${columns.join(", ")} FROM groups`;
const insert = insertInto("groups", columns);
const insertMember = insertInto("group_members", ['"group"', "session"]);
const leftOpen = `SELECT group_members.session FROM sessions CROSS JOIN group_members CROSS JOIN groups
  WHERE sessions.closed_at IS NULL AND group_members.session = sessions.id
    AND groups.id = group_members."group" AND groups.dissolved_at IS NOT NULL ORDER BY group_members.position`;

export class SqlGroups implements GroupTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: GroupId): Promise<Group | null> {
    return (await this.#sql.get<Group>(`${select} WHERE id = ?`, id)) ?? null;
  }

  async byName(name: string): Promise<Group | null> {
    return (await this.#sql.get<Group>(`${select} WHERE name = ? AND dissolved_at IS NULL`, name)) ?? null;
  }

  async newest(name: string): Promise<Group | null> {
    return (await this.#sql.get<Group>(`${select} WHERE name = ? ORDER BY position DESC LIMIT 1`, name)) ?? null;
  }

  async ofSession(session: SessionId): Promise<Group | null> {
    const text = `${select} WHERE id = (SELECT "group" FROM group_members WHERE session = ?)`;
    return (await this.#sql.get<Group>(text, session)) ?? null;
  }

  async list(): Promise<Group[]> {
    return await this.#sql.all<Group>(`${select} WHERE dissolved_at IS NULL ORDER BY +position`);
  }

  async members(group: GroupId): Promise<SessionId[]> {
    const text = `SELECT session FROM group_members WHERE "group" = ? ORDER BY position`;
    return (await this.#sql.all<{ session: SessionId }>(text, group)).map((row) => row.session);
  }

  async leftOpen(): Promise<SessionId[]> {
    return (await this.#sql.all<{ session: SessionId }>(leftOpen)).map((row) => row.session);
  }

  async insert({ id, name, reducer, timeout, created_at, dissolved_at }: Group): Promise<void> {
    await insertRow(this.#sql, insert, [id, name, reducer, timeout, created_at, dissolved_at], {
      taken: `the group "${name}" exists`,
    });
  }

  async addMember(group: GroupId, session: SessionId): Promise<void> {
    await insertRow(this.#sql, insertMember, [group, session], {
      taken: `the session ${session} is in a group already`,
      reference: `no group ${group}, or no session ${session} to be its member`,
    });
  }

  async dissolve(id: GroupId, at: number): Promise<void> {
    const text = "UPDATE groups SET dissolved_at = ? WHERE id = ? AND dissolved_at IS NULL";
    if ((await this.#sql.run(text, at, id)) === 0) throw new AegisError("conflict", `no live group ${id}`);
  }
}
