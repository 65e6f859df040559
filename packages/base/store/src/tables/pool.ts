/** The pool. Closed sessions are not part of it, so a row needs no separate end, and all reads ignore theirs. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Lease, PooledAgent } from "@aegis/contract/subagent.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql, Value } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

export type AgentKey = Pick<PooledAgent, "source" | "plugin" | "slug" | "config_hash">;

/** As stored: a lease is three columns. */
type PoolRow = Omit<PooledAgent, "lease"> & {
  lease: string | null;
  holder: SessionId | null;
  leased_at: number | null;
};

const table = new Table<PoolRow>("pool", {
  session: "plain",
  key: "name",
  source: "plain",
  plugin: "name",
  slug: "name",
  config_hash: "name",
  uses: "plain",
  created_at: "plain",
  last_used_at: "plain",
  lease: "name",
  holder: "plain",
  leased_at: "plain",
});

const open = "FROM pool JOIN sessions ON sessions.id = pool.session AND sessions.closed_at IS NULL";
const isIdle = `lease IS NULL AND sessions.state <> 'working'
  AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.session = pool.session AND messages.status = 'pending')
  AND NOT EXISTS (SELECT 1 FROM subagents WHERE subagents.parent = pool.session AND subagents.status = 'running')`;
const lease = `UPDATE pool SET lease = ?, holder = ?, leased_at = ?, last_used_at = ?, uses = uses + 1
  WHERE session = ? AND lease IS NULL`;
const usedBy = "SELECT 1 FROM messages WHERE session = ? AND sender ->> '$.session' = ? LIMIT 1";

export class PoolReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  async get(session: SessionId): Promise<PooledAgent | null> {
    return (await this.#list("WHERE pool.session = ?", session))[0] ?? null;
  }

  /** Most recently used first. */
  list(): Promise<PooledAgent[]> {
    return this.#list("ORDER BY last_used_at DESC, sessions.position DESC");
  }

  /** Idle sessions of exactly this agent without a lease, most recently used first. */
  idle({ source, plugin, slug, config_hash }: AgentKey): Promise<PooledAgent[]> {
    const same = "source = ? AND plugin IS NOT DISTINCT FROM ? AND slug = ? AND config_hash = ?";
    const order = "ORDER BY last_used_at DESC, sessions.position DESC";
    return this.#list(`WHERE ${same} AND ${isIdle} ${order}`, source, plugin, slug, config_hash);
  }

  /** All idle sessions without a lease, least recently used first. */
  idleForLongest(): Promise<PooledAgent[]> {
    return this.#list(`WHERE ${isIdle} ORDER BY last_used_at, sessions.position`);
  }

  async count(): Promise<number> {
    return (await this.sql.get<{ count: number }>(`SELECT count(*) AS count ${open}`))?.count ?? 0;
  }

  /** Returns whether the session ever received a task from the caller. */
  async wasUsedBy(session: SessionId, caller: SessionId): Promise<boolean> {
    return (await this.sql.get(usedBy, session, caller)) !== undefined;
  }

  async #list(rest: string, ...values: Value[]): Promise<PooledAgent[]> {
    return (await table.select(this.sql, `${open} ${rest}`, ...values)).map(pooledAgent);
  }
}

export class PoolWrites extends PoolReads<RowWriter> {
  async insert({ lease: held, ...rest }: PooledAgent): Promise<void> {
    const lease = { lease: held?.id ?? null, holder: held?.holder ?? null, leased_at: held?.since ?? null };
    await this.sql.insert(
      table,
      { ...rest, ...lease },
      {
        taken: `the session ${rest.session} is in the pool`,
        reference: `no session ${rest.session} to put into the pool`,
      },
    );
  }

  /** Throws `conflict` if it is already leased. */
  async lease(session: SessionId, { id, holder, since }: Lease): Promise<void> {
    const changes = await this.sql.run(lease, id, holder, since, since, session);
    if (changes === 0) throw new AegisError("conflict", `the pooled agent ${session} is already leased`);
  }

  /** Returns false if that lease has already ended. */
  release(session: SessionId, id: string, at: number): Promise<boolean> {
    const free = { lease: null, holder: null, leased_at: null, last_used_at: at };
    return this.sql.update(table, free, ["session = ? AND lease = ?", session, id]);
  }

  /** Ends every lease, or those of holders on one node. Returns the sessions that were held. */
  async releaseAll(node?: string | null): Promise<SessionId[]> {
    const ofNode = "AND holder IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?)";
    const held = `holder IS NOT NULL ${node === undefined ? "" : ofNode}`;
    const values = node === undefined ? [] : [node];
    const rows = await this.sql.all<{ session: SessionId }>(`SELECT session FROM pool WHERE ${held}`, ...values);
    await this.sql.update(table, { lease: null, holder: null, leased_at: null }, [held, ...values]);
    return rows.map((row) => row.session);
  }
}

function pooledAgent({ lease: id, holder, leased_at, ...row }: PoolRow): PooledAgent {
  const held = id === null || holder === null || leased_at === null ? null : { id, holder, since: leased_at };
  return { ...row, lease: held };
}
