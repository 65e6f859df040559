/** The states of working trees at the beginning and the end of turns. */
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql, Value } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** The state of a working tree when a turn began or ended. */
export type BoundaryRow = {
  /** Orders the boundaries of all folders. */
  position: number;
  /** The root of the working tree, on its node. */
  folder: string;
  /** The node that wrote it. Null for an embedded database and for rows of older versions. */
  node: string | null;
  session: SessionId;
  turn: TurnId;
  edge: "open" | "close";
  /** Null if no snapshot could be made; `problem` says why. */
  tree: string | null;
  head: string | null;
  problem: string | null;
  detail: BoundaryDetail;
  at: number;
};

/** The store adds the position and the node. */
export type NewBoundary = Omit<BoundaryRow, "position" | "node">;

export type BoundaryDetail = {
  skipped: { path: string; size: number }[];
  dirty_submodules: string[];
  filters_off: readonly string[];
};

/** Trees and folders identify content; git needs them unchanged. */
const table = new Table<BoundaryRow, object, "position">(
  "boundaries",
  {
    folder: "name",
    node: "name",
    session: "plain",
    turn: "plain",
    edge: "plain",
    tree: "name",
    head: "name",
    problem: "text",
    detail: "json text",
    at: "plain",
  },
  { numbered: "position" },
);

const noEnd =
  "NOT EXISTS (SELECT 1 FROM boundaries AS closing WHERE closing.turn = boundaries.turn AND closing.edge = 'close'";

/** Folders of other nodes are other folders, also under the same path: except for `ofTurn`, reads see those of this node. */
export class BoundaryReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  ofTurn(turn: TurnId, edge: BoundaryRow["edge"]): Promise<BoundaryRow | null> {
    return table.one(this.sql, "WHERE turn = ? AND edge = ?", turn, edge);
  }

  /** In order. */
  ofSession(session: SessionId): Promise<BoundaryRow[]> {
    return this.#here(["session = ?", session], "ORDER BY position");
  }

  /** All boundaries of a folder from one position to another, in order. */
  between(folder: string, from: number, to: number): Promise<BoundaryRow[]> {
    return this.#here(["folder = ? AND position BETWEEN ? AND ?", folder, from, to], "ORDER BY position");
  }

  /** Turns of the folder that were open at the position: begun before it and not ended before it. */
  openAt(folder: string, position: number): Promise<BoundaryRow[]> {
    const text = `folder = ? AND position < ? AND edge = 'open' AND ${noEnd} AND closing.position < ?)`;
    return this.#here([text, folder, position, position]);
  }

  /** Turns that began and have no recorded end. */
  unclosed(): Promise<BoundaryRow[]> {
    return this.#here([`edge = 'open' AND ${noEnd})`], "ORDER BY position");
  }

  /** Boundaries before this time that still have a tree, oldest first. */
  before(at: number, limit: number): Promise<BoundaryRow[]> {
    return this.#here(["at < ? AND tree IS NOT NULL", at], `ORDER BY position LIMIT ${Math.trunc(limit)}`);
  }

  /** Rows of this node. An embedded database has no other ones. */
  #here([where, ...values]: [string, ...Value[]], rest = ""): Promise<BoundaryRow[]> {
    const { node } = this.sql;
    if (node === null) return table.all(this.sql, `WHERE ${where} ${rest}`, ...values);
    const own = "(boundaries.node IS NULL OR boundaries.node = ?)";
    return table.all(this.sql, `WHERE ${where} AND ${own} ${rest}`, ...values, node);
  }
}

export class BoundaryWrites extends BoundaryReads<RowWriter> {
  /** Ignored if the turn already has this boundary. */
  async insert(row: NewBoundary): Promise<void> {
    const { session, turn } = row;
    await this.sql.add(table, { ...row, node: this.sql.node }, `no session ${session}, or no turn ${turn}`);
  }

  /** Records that the tree is no longer kept. */
  async forget(position: number, problem: string): Promise<void> {
    await this.sql.update(table, { tree: null, problem }, ["position = ?", position]);
  }
}
