/** The nodes of a cluster and the commands between them. */

import type { CommandRow, NodeRow, NodeTable } from "../node-tables.ts";
import { insertInto, insertRow, type Sql } from "./sql.ts";

/** As stored: SQLite has no booleans; labels are JSON. */
type Stored = Omit<NodeRow, "alive" | "draining" | "labels"> & { alive: number; draining: number; labels: string };
type StoredCommand = Omit<CommandRow, "args" | "result"> & { args: string; result: string | null };

const columns = [
  "name",
  "incarnation",
  "holder",
  "alive",
  "draining",
  "joined_at",
  "lost_at",
  "url",
  "version",
  "config_hash",
  "labels",
  "sessions_max",
] as const satisfies (keyof NodeRow)[];
const insertCommand = insertInto("commands", ["name", "node", "what", "args", "deadline"]);

/** `runs.owner` of a node's incarnation. */
export function runOwner(name: string, incarnation: number): string {
  return `${name}/${incarnation}`;
}

export class SqlNodes implements NodeTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(name: string): Promise<NodeRow | null> {
    const stored = await this.#sql.get<Stored>(`${this.#select()} WHERE name = ?`, name);
    return stored === undefined ? null : fromStored(stored);
  }

  async list(): Promise<NodeRow[]> {
    return (await this.#sql.all<Stored>(`${this.#select()} ORDER BY name`)).map(fromStored);
  }

  async sessions(): Promise<Map<string | null, number>> {
    const text = "SELECT node, count(*) AS count FROM sessions WHERE closed_at IS NULL GROUP BY node";
    const rows = await this.#sql.all<{ node: string | null; count: number }>(text);
    return new Map(rows.map(({ node, count }) => [node, count]));
  }

  async declareLost(name: string, incarnation: number): Promise<boolean> {
    const { now } = this.#sql.dialect;
    const text = `UPDATE nodes SET alive = 0, lost_at = ${now}
      WHERE name = ? AND incarnation = ? AND alive = 1 AND lease_until < ${now}`;
    return (await this.#sql.run(text, name, incarnation)) > 0;
  }

  async describe(name: string, change: Partial<Pick<NodeRow, "url" | "config_hash" | "draining">>): Promise<void> {
    const { url, config_hash, draining } = change;
    if (url !== undefined) await this.#sql.run("UPDATE nodes SET url = ? WHERE name = ?", url, name);
    if (config_hash !== undefined)
      await this.#sql.run("UPDATE nodes SET config_hash = ? WHERE name = ?", config_hash, name);
    if (draining !== undefined)
      await this.#sql.run("UPDATE nodes SET draining = ? WHERE name = ?", draining ? 1 : 0, name);
  }

  async remove(name: string): Promise<void> {
    await this.#sql.run("DELETE FROM nodes WHERE name = ?", name);
    await this.#sql.run("DELETE FROM commands WHERE node = ?", name);
  }

  async moveWork(from: string | null, to: string | null): Promise<void> {
    const tasks = "UPDATE tasks SET node = ? WHERE node IS NOT DISTINCT FROM ? AND status = 'dispatched'";
    await this.#sql.run(tasks, to, from);
    const firings = "UPDATE firings SET node = ? WHERE node IS NOT DISTINCT FROM ? AND ended_at IS NULL";
    await this.#sql.run(firings, to, from);
  }

  async adoptSessions(to: string | null): Promise<number> {
    const homeless = to === null ? "1 = 1" : "(node IS NULL OR node NOT IN (SELECT name FROM nodes))";
    const other = "node IS DISTINCT FROM ?";
    for (const table of [
      "tasks SET node = ? WHERE status = 'dispatched'",
      "firings SET node = ? WHERE ended_at IS NULL",
    ])
      await this.#sql.run(`UPDATE ${table} AND ${other} AND ${homeless}`, to, to);
    return this.#sql.run(`UPDATE sessions SET node = ? WHERE closed_at IS NULL AND ${other} AND ${homeless}`, to, to);
  }

  async freeRuns(node: string): Promise<void> {
    const text = `UPDATE runs SET owner = NULL, lease_until = NULL
      WHERE ended_at IS NULL AND substr(owner, 1, length(?1) + 1) = ?1 || '/'`;
    await this.#sql.run(text, node);
  }

  async command(name: string): Promise<CommandRow | null> {
    const [row] = await this.#commands("name = ?", name);
    return row ?? null;
  }

  commandsFor(node: string): Promise<CommandRow[]> {
    return this.#commands(`node = ? AND result IS NULL AND deadline > ${this.#sql.dialect.now}`, node);
  }

  async addCommand({ name, node, what, args, expires_ms }: Omit<CommandRow, "result">): Promise<void> {
    const now = await this.#sql.get<{ now: number }>(`SELECT ${this.#sql.dialect.now} AS now`);
    const deadline = (now?.now ?? 0) + expires_ms;
    await insertRow(this.#sql, insertCommand, [name, node, what, JSON.stringify(args), deadline], {
      taken: `the command ${name} was given before`,
    });
  }

  async finishCommand(name: string, result: unknown): Promise<void> {
    await this.#sql.run("UPDATE commands SET result = ? WHERE name = ?", JSON.stringify(result), name);
  }

  async removeCommand(name: string): Promise<void> {
    await this.#sql.run(`DELETE FROM commands WHERE name = ? OR deadline < ${this.#sql.dialect.now} - 60000`, name);
  }

  async tell(hint: string): Promise<void> {
    await this.#sql.get(this.#sql.dialect.tell, hint);
  }

  #select(): string {
    const { now } = this.#sql.dialect;
    return `SELECT ${columns.join(", ")}, lease_until - ${now} AS lease_ms, ${now} AS now FROM nodes`;
  }

  async #commands(where: string, value: string): Promise<CommandRow[]> {
    const text = `SELECT name, node, what, args, result, deadline - ${this.#sql.dialect.now} AS expires_ms
      FROM commands WHERE ${where} ORDER BY deadline, name`;
    const rows = await this.#sql.all<StoredCommand>(text, value);
    return rows.map((row) => ({
      ...row,
      args: JSON.parse(row.args) as unknown,
      result: row.result === null ? null : (JSON.parse(row.result) as unknown),
    }));
  }
}

function fromStored(stored: Stored): NodeRow {
  const labels = JSON.parse(stored.labels) as string[];
  return { ...stored, labels, alive: stored.alive === 1, draining: stored.draining === 1 };
}
