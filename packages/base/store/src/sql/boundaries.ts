/** The states of working trees at the beginning and the end of turns. */
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { NewBoundary } from "../copy-tables.ts";
import type { BoundaryDetail, BoundaryRow, BoundaryTable } from "../store.ts";
import { onConstraint, type Sql, type Value } from "./sql.ts";

type Stored = Omit<BoundaryRow, "detail"> & { detail: string };

const columns = "folder, session, turn, edge, tree, head, problem, detail, at, node";
const select = `SELECT position, ${columns} FROM boundaries`;
const insert = `INSERT INTO boundaries (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (turn, edge) DO NOTHING`;
const noEnd =
  "NOT EXISTS (SELECT 1 FROM boundaries AS closing WHERE closing.turn = boundaries.turn AND closing.edge = 'close'";

export class SqlBoundaries implements BoundaryTable {
  readonly #sql: Sql;

  /** Selects the rows of this node. An embedded database has no other ones. */
  readonly #here: { text: string; values: string[] };

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#here =
      sql.node === null
        ? { text: "", values: [] }
        : { text: " AND (boundaries.node IS NULL OR boundaries.node = ?)", values: [sql.node] };
  }

  async ofTurn(turn: TurnId, edge: BoundaryRow["edge"]): Promise<BoundaryRow | null> {
    const stored = await this.#sql.get<Stored>(`${select} WHERE turn = ? AND edge = ?`, turn, edge);
    return stored === undefined ? null : fromStored(stored);
  }

  ofSession(session: SessionId): Promise<BoundaryRow[]> {
    return this.#rows(["session = ?", session], "ORDER BY position");
  }

  between(folder: string, from: number, to: number): Promise<BoundaryRow[]> {
    return this.#rows(["folder = ? AND position BETWEEN ? AND ?", folder, from, to], "ORDER BY position");
  }

  openAt(folder: string, position: number): Promise<BoundaryRow[]> {
    const text = `folder = ? AND position < ? AND edge = 'open' AND ${noEnd} AND closing.position < ?)`;
    return this.#rows([text, folder, position, position]);
  }

  unclosed(): Promise<BoundaryRow[]> {
    return this.#rows([`edge = 'open' AND ${noEnd})`], "ORDER BY position");
  }

  before(at: number, limit: number): Promise<BoundaryRow[]> {
    return this.#rows(["at < ? AND tree IS NOT NULL", at], `ORDER BY position LIMIT ${Math.trunc(limit)}`);
  }

  async insert({ folder, session, turn, edge, tree, head, problem, detail, at }: NewBoundary) {
    const { node } = this.#sql;
    try {
      const values = [folder, session, turn, edge, tree, head, problem, JSON.stringify(detail), at, node];
      await this.#sql.attempt(insert, ...values);
    } catch (error) {
      throw onConstraint(error, `no session ${session}, or no turn ${turn}`);
    }
  }

  async forget(position: number, problem: string): Promise<void> {
    await this.#sql.run("UPDATE boundaries SET tree = NULL, problem = ? WHERE position = ?", problem, position);
  }

  async #rows([where, ...values]: [string, ...Value[]], rest = ""): Promise<BoundaryRow[]> {
    const { text, values: here } = this.#here;
    return (await this.#sql.all<Stored>(`${select} WHERE ${where}${text} ${rest}`, ...values, ...here)).map(fromStored);
  }
}

function fromStored(stored: Stored): BoundaryRow {
  return { ...stored, detail: JSON.parse(stored.detail) as BoundaryDetail };
}
