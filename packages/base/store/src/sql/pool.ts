/** The pool. Closed sessions are not part of it, so a row needs no separate end. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Lease, PooledAgent } from "@aegis/contract/subagent.ts";
import type { AgentKey, PoolTable } from "../store.ts";
import { insertInto, insertRow, type Sql, type Value } from "./sql.ts";

/** As stored: a lease is three columns. */
type Stored = Omit<PooledAgent, "lease"> & { lease: string | null; holder: SessionId | null; leased_at: number | null };

const columns = [
  "session",
  "key",
  "source",
  "plugin",
  "slug",
  "config_hash",
  "uses",
  "created_at",
  "last_used_at",
  "lease",
  "holder",
  "leased_at",
] as const satisfies (keyof Stored)[];
const select = `SELECT ${columns.map((column) => `pool.${column}`).join(", ")}
  FROM pool JOIN sessions ON sessions.id = pool.session AND sessions.closed_at IS NULL`;
const insert = insertInto("pool", columns);
const isIdle = `lease IS NULL AND sessions.state <> 'working'
  AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.session = pool.session AND messages.status = 'pending')
  AND NOT EXISTS (SELECT 1 FROM subagents WHERE subagents.parent = pool.session AND subagents.status = 'running')`;
const lease = `UPDATE pool SET lease = ?, holder = ?, leased_at = ?, last_used_at = ?, uses = uses + 1
  WHERE session = ? AND lease IS NULL`;
const release = `UPDATE pool SET lease = NULL, holder = NULL, leased_at = NULL, last_used_at = ?
  WHERE session = ? AND lease = ?`;
const usedBy = "SELECT 1 FROM messages WHERE session = ? AND sender ->> '$.session' = ? LIMIT 1";

export class SqlPool implements PoolTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(session: SessionId): Promise<PooledAgent | null> {
    return (await this.#list("WHERE pool.session = ?", session))[0] ?? null;
  }

  async list(): Promise<PooledAgent[]> {
    return this.#list("ORDER BY last_used_at DESC, sessions.position DESC");
  }

  async idle({ source, plugin, slug, config_hash }: AgentKey): Promise<PooledAgent[]> {
    return this.#list(
      `WHERE source = ? AND plugin IS NOT DISTINCT FROM ? AND slug = ? AND config_hash = ? AND ${isIdle}
      ORDER BY last_used_at DESC, sessions.position DESC`,
      source,
      plugin,
      slug,
      config_hash,
    );
  }

  async idleForLongest(): Promise<PooledAgent[]> {
    return this.#list(`WHERE ${isIdle} ORDER BY last_used_at, sessions.position`);
  }

  async count(): Promise<number> {
    const text = `SELECT count(*) AS count FROM (${select}) AS pooled`;
    return (await this.#sql.get<{ count: number }>(text))?.count ?? 0;
  }

  async wasUsedBy(session: SessionId, caller: SessionId): Promise<boolean> {
    return (await this.#sql.get(usedBy, session, caller)) !== undefined;
  }

  async insert({ lease: held, ...row }: PooledAgent): Promise<void> {
    const stored: Stored = {
      ...row,
      lease: held?.id ?? null,
      holder: held?.holder ?? null,
      leased_at: held?.since ?? null,
    };
    await insertRow(
      this.#sql,
      insert,
      columns.map((column) => stored[column]),
      {
        taken: `the session ${row.session} is in the pool`,
        reference: `no session ${row.session} to put into the pool`,
      },
    );
  }

  async lease(session: SessionId, { id, holder, since }: Lease): Promise<void> {
    const changes = await this.#sql.run(lease, id, holder, since, since, session);
    if (changes === 0) throw new AegisError("conflict", `the pooled agent ${session} is already leased`);
  }

  async release(session: SessionId, id: string, at: number): Promise<boolean> {
    return (await this.#sql.run(release, at, session, id)) > 0;
  }

  async releaseAll(node?: string | null): Promise<SessionId[]> {
    const ofNode = "AND holder IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?)";
    const where = `WHERE holder IS NOT NULL ${node === undefined ? "" : ofNode}`;
    const values = node === undefined ? [] : [node];
    const held = await this.#sql.all<{ session: SessionId }>(`SELECT session FROM pool ${where}`, ...values);
    await this.#sql.run(`UPDATE pool SET lease = NULL, holder = NULL, leased_at = NULL ${where}`, ...values);
    return held.map((row) => row.session);
  }

  async #list(rest: string, ...values: Value[]): Promise<PooledAgent[]> {
    return (await this.#sql.all<Stored>(`${select} ${rest}`, ...values)).map(fromStored);
  }
}

function fromStored({ lease: id, holder, leased_at, ...row }: Stored): PooledAgent {
  const held = id === null || holder === null || leased_at === null ? null : { id, holder, since: leased_at };
  return { ...row, lease: held };
}
