/** Groups and their members. At most one live group has a given name. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Group } from "@aegis/contract/group.ts";
import type { GroupId, SessionId } from "@aegis/contract/ids.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

const table = new Table<Group>("groups", {
  id: "plain",
  name: "name",
  reducer: "name",
  timeout: "plain",
  created_at: "plain",
  dissolved_at: "plain",
});
const members = new Table<{ group: GroupId; session: SessionId }>("group_members", {
  group: "plain",
  session: "plain",
});

const leftOpen = `SELECT group_members.session FROM sessions CROSS JOIN group_members CROSS JOIN groups
  WHERE sessions.closed_at IS NULL AND group_members.session = sessions.id
    AND groups.id = group_members."group" AND groups.dissolved_at IS NOT NULL ORDER BY group_members.position`;

export class GroupReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: GroupId): Promise<Group | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** The live group with this name. */
  byName(name: string): Promise<Group | null> {
    return table.one(this.sql, "WHERE name = ? AND dissolved_at IS NULL", name);
  }

  /** The live group with this name, else the most recently dissolved one. */
  newest(name: string): Promise<Group | null> {
    return table.one(this.sql, "WHERE name = ? ORDER BY position DESC LIMIT 1", name);
  }

  /** The group that the session joined. */
  ofSession(session: SessionId): Promise<Group | null> {
    return table.one(this.sql, `WHERE id = (SELECT "group" FROM group_members WHERE session = ?)`, session);
  }

  /** Live groups, oldest first. */
  list(): Promise<Group[]> {
    return table.all(this.sql, "WHERE dissolved_at IS NULL ORDER BY +position");
  }

  /** In the order in which they joined, including closed sessions. */
  async members(group: GroupId): Promise<SessionId[]> {
    const text = `SELECT session FROM group_members WHERE "group" = ? ORDER BY position`;
    return (await this.sql.all<{ session: SessionId }>(text, group)).map((row) => row.session);
  }

  /** Open sessions of dissolved groups. */
  async leftOpen(): Promise<SessionId[]> {
    return (await this.sql.all<{ session: SessionId }>(leftOpen)).map((row) => row.session);
  }
}

export class GroupWrites extends GroupReads<RowWriter> {
  /** Throws `conflict` if a live group has that name. */
  async insert(group: Group): Promise<void> {
    await this.sql.insert(table, group, { taken: `the group "${group.name}" exists` });
  }

  async addMember(group: GroupId, session: SessionId): Promise<void> {
    await this.sql.insert(
      members,
      { group, session },
      {
        taken: `the session ${session} is in a group already`,
        reference: `no group ${group}, or no session ${session} to be its member`,
      },
    );
  }

  async dissolve(id: GroupId, at: number): Promise<void> {
    if (!(await this.sql.update(table, { dissolved_at: at }, ["id = ? AND dissolved_at IS NULL", id])))
      throw new AegisError("conflict", `no live group ${id}`);
  }
}
