/** The nodes of a cluster and the requests between them. Empty in an embedded store. */
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { type StoredRow, Table, TableReads } from "../sql/table.ts";

/** A node as stored. */
export type NodeRow = {
  /** Unique in the cluster. */
  name: string;
  /** Raised each time that the node joins. */
  incarnation: number;
  /** Identifies the state folder of the node. */
  holder: string;
  /** False once another node has taken over its work. A node that is not alive cannot write. */
  alive: boolean;
  /** It takes no new work. */
  draining: boolean;
  /** How long its lease still holds, in milliseconds of the database's clock. Negative once it has ended. */
  lease_ms: number;
  /** Times of the database's clock. `now` is the time of the read. */
  now: number;
  joined_at: number;
  lost_at: number | null;
  url: string | null;
  version: string;
  config_hash: string | null;
  labels: readonly string[];
  /** Null means no limit. */
  sessions_max: number | null;
};

/** A request to the process of another node. */
export type CommandRow = {
  /** An idempotency key. */
  name: string;
  node: string;
  what: string;
  args: unknown;
  /** By the database's clock: the node ignores the command afterwards. */
  expires_ms: number;
  /** Null until the node has carried it out. */
  result: unknown;
};

const table = new Table<Omit<NodeRow, "lease_ms" | "now">>("nodes", {
  name: "name",
  incarnation: "plain",
  holder: "name",
  alive: "flag",
  draining: "flag",
  joined_at: "plain",
  lost_at: "plain",
  url: "name",
  version: "name",
  config_hash: "name",
  labels: "json name",
  sessions_max: "plain",
});
/** A request and its answer are removed as soon as they were read. A request without an answer has no result at all. */
const commands = new Table<Omit<CommandRow, "expires_ms">, { deadline: number }>(
  "commands",
  { name: "name", node: "name", what: "name", args: "any whole", result: "json whole" },
  { hidden: { deadline: "plain" } },
);

/** `runs.owner` of a node's incarnation. */
export function runOwner(name: string, incarnation: number): string {
  return `${name}/${incarnation}`;
}

export class NodeReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  async get(name: string): Promise<NodeRow | null> {
    return (await this.#nodes("WHERE name = ?", name))[0] ?? null;
  }

  /** By name. */
  list(): Promise<NodeRow[]> {
    return this.#nodes("ORDER BY name");
  }

  /** Open sessions of each node that has any; null for sessions without a node. */
  async sessions(): Promise<Map<string | null, number>> {
    const text = "SELECT node, count(*) AS count FROM sessions WHERE closed_at IS NULL GROUP BY node";
    const rows = await this.sql.all<{ node: string | null; count: number }>(text);
    return new Map(rows.map(({ node, count }) => [node, count]));
  }

  async command(name: string): Promise<CommandRow | null> {
    return (await this.#commands("name = ?", name))[0] ?? null;
  }

  /** Commands for the node that have no result and have not expired, oldest first. */
  commandsFor(node: string): Promise<CommandRow[]> {
    return this.#commands(`node = ? AND result IS NULL AND deadline > ${this.sql.dialect.now}`, node);
  }

  async #nodes(rest: string, ...values: string[]): Promise<NodeRow[]> {
    const { now } = this.sql.dialect;
    const text = `SELECT ${table.columns}, lease_until - ${now} AS lease_ms, ${now} AS now FROM nodes ${rest}`;
    const rows = await this.sql.all<StoredRow & Pick<NodeRow, "lease_ms" | "now">>(text, ...values);
    return rows.map((row) => ({ ...table.row(row), lease_ms: row.lease_ms, now: row.now }));
  }

  async #commands(where: string, value: string): Promise<CommandRow[]> {
    const text = `SELECT ${commands.columns}, deadline - ${this.sql.dialect.now} AS expires_ms
      FROM commands WHERE ${where} ORDER BY deadline, name`;
    const rows = await this.sql.all<StoredRow & Pick<CommandRow, "expires_ms">>(text, value);
    return rows.map((row) => ({ ...commands.row(row), expires_ms: row.expires_ms }));
  }
}

export class NodeWrites extends NodeReads<RowWriter> {
  /** Ends the membership of a node whose lease has ended. Returns false if the lease holds or the node joined again. */
  async declareLost(name: string, incarnation: number): Promise<boolean> {
    const { now } = this.sql.dialect;
    const text = `UPDATE nodes SET alive = 0, lost_at = ${now}
      WHERE name = ? AND incarnation = ? AND alive = 1 AND lease_until < ${now}`;
    return (await this.sql.run(text, name, incarnation)) > 0;
  }

  async describe(name: string, change: Partial<Pick<NodeRow, "url" | "config_hash" | "draining">>): Promise<void> {
    await this.sql.update(table, change, ["name = ?", name]);
  }

  async remove(name: string): Promise<void> {
    await this.sql.run("DELETE FROM nodes WHERE name = ?", name);
    await this.sql.run("DELETE FROM commands WHERE node = ?", name);
  }

  /** Gives the unfinished tasks and firings of one node to another. */
  async moveWork(from: string | null, to: string | null): Promise<void> {
    const tasks = "UPDATE tasks SET node = ? WHERE node IS NOT DISTINCT FROM ? AND status = 'dispatched'";
    await this.sql.run(tasks, to, from);
    const firings = "UPDATE firings SET node = ? WHERE node IS NOT DISTINCT FROM ? AND ended_at IS NULL";
    await this.sql.run(firings, to, from);
  }

  /** Gives the open sessions of nodes that do not exist to this node; with null, those of all. Returns how many. */
  async adoptSessions(to: string | null): Promise<number> {
    const homeless = to === null ? "1 = 1" : "(node IS NULL OR node NOT IN (SELECT name FROM nodes))";
    const other = "node IS DISTINCT FROM ?";
    for (const work of [
      "tasks SET node = ? WHERE status = 'dispatched'",
      "firings SET node = ? WHERE ended_at IS NULL",
    ])
      await this.sql.run(`UPDATE ${work} AND ${other} AND ${homeless}`, to, to);
    return this.sql.run(`UPDATE sessions SET node = ? WHERE closed_at IS NULL AND ${other} AND ${homeless}`, to, to);
  }

  /** Frees the unfinished runs of a node. */
  async freeRuns(node: string): Promise<void> {
    const text = `UPDATE runs SET owner = NULL, lease_until = NULL
      WHERE ended_at IS NULL AND substr(owner, 1, length(?1) + 1) = ?1 || '/'`;
    await this.sql.run(text, node);
  }

  async addCommand({ expires_ms, ...command }: Omit<CommandRow, "result">): Promise<void> {
    const now = await this.sql.get<{ now: number }>(`SELECT ${this.sql.dialect.now} AS now`);
    const row = { ...command, result: null, deadline: (now?.now ?? 0) + expires_ms };
    await this.sql.insert(commands, row, { taken: `the command ${command.name} was given before` });
  }

  async finishCommand(name: string, result: unknown): Promise<void> {
    await this.sql.run("UPDATE commands SET result = ? WHERE name = ?", JSON.stringify(result), name);
  }

  async removeCommand(name: string): Promise<void> {
    await this.sql.run(`DELETE FROM commands WHERE name = ? OR deadline < ${this.sql.dialect.now} - 60000`, name);
  }

  /** Sends a text to every node, including this one, when the transaction commits. May be lost. */
  async tell(hint: string): Promise<void> {
    await this.sql.get(this.sql.dialect.tell, hint);
  }
}
