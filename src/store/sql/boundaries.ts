/** The states of working trees at the beginning and the end of turns. */
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { BoundaryDetail, BoundaryRow, BoundaryTable } from "../store.ts";
import { onConstraint, type Sql } from "./sql.ts";

type Stored = Omit<BoundaryRow, "detail"> & { detail: string };

const columns = "folder, session, turn, edge, tree, head, problem, detail, at";
const select = `SELECT position, ${columns} FROM boundaries`;
const insert = `INSERT INTO boundaries (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (turn, edge) DO NOTHING`;
const noEnd =
  "NOT EXISTS (SELECT 1 FROM boundaries AS closing WHERE closing.turn = boundaries.turn AND closing.edge = 'close'";

export class SqlBoundaries implements BoundaryTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async ofTurn(turn: TurnId, edge: BoundaryRow["edge"]): Promise<BoundaryRow | null> {
    const stored = await this.#sql.get<Stored>(`${select} WHERE turn = ? AND edge = ?`, turn, edge);
    return stored === undefined ? null : fromStored(stored);
  }

  async ofSession(session: SessionId): Promise<BoundaryRow[]> {
    return (await this.#sql.all<Stored>(`${select} WHERE session = ? ORDER BY position`, session)).map(fromStored);
  }

  async between(folder: string, from: number, to: number): Promise<BoundaryRow[]> {
    const text = `${select} WHERE folder = ? AND position BETWEEN ? AND ? ORDER BY position`;
    return (await this.#sql.all<Stored>(text, folder, from, to)).map(fromStored);
  }

  async openAt(folder: string, position: number): Promise<BoundaryRow[]> {
    const text = `${select} WHERE folder = ? AND position < ? AND edge = 'open' AND ${noEnd} AND closing.position < ?)`;
    return (await this.#sql.all<Stored>(text, folder, position, position)).map(fromStored);
  }

  async unclosed(): Promise<BoundaryRow[]> {
    return (await this.#sql.all<Stored>(`${select} WHERE edge = 'open' AND ${noEnd}) ORDER BY position`)).map(
      fromStored,
    );
  }

  async before(at: number, limit: number): Promise<BoundaryRow[]> {
    const text = `${select} WHERE at < ? AND tree IS NOT NULL ORDER BY position LIMIT ?`;
    return (await this.#sql.all<Stored>(text, at, limit)).map(fromStored);
  }

  async insert({ folder, session, turn, edge, tree, head, problem, detail, at }: Omit<BoundaryRow, "position">) {
    try {
      await this.#sql.attempt(insert, folder, session, turn, edge, tree, head, problem, JSON.stringify(detail), at);
    } catch (error) {
      throw onConstraint(error, `no session ${session}, or no turn ${turn}`);
    }
  }

  async forget(position: number, problem: string): Promise<void> {
    await this.#sql.run("UPDATE boundaries SET tree = NULL, problem = ? WHERE position = ?", problem, position);
  }
}

function fromStored(stored: Stored): BoundaryRow {
  return { ...stored, detail: JSON.parse(stored.detail) as BoundaryDetail };
}
