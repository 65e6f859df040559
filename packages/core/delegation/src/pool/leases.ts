/**
 * Leases of pooled sessions. A lease is written in one transaction with its message, belongs to one holder, and ends
 * once. Sessions without a holder and without work may be evicted.
 */
import { createHash } from "node:crypto";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { limitedAgent } from "@aegis/agents/limits.ts";
import type { SessionPlace } from "@aegis/agents/rights/place.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Lease, PooledAgent } from "@aegis/contract/subagent.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { ClosedSession } from "@aegis/sessions/close.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { hasForgotten } from "@aegis/sessions/memory.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { AgentKey, SessionRow, StoreReads, StoreTx } from "@aegis/store/store.ts";

export type LeasesOptions = {
  clock: Clock;
  agents: AgentTable;
  sessions: Sessions;
  max: () => number;
};

export type AcquiredLease = { session: SessionId; fresh: boolean; closed: ClosedSession[] };

export class Leases {
  readonly #options: LeasesOptions;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** An idle session of the same agent, preferably the holder's last one, or a new session. */
  async acquire(
    tx: StoreTx,
    wanted: { profile: Agent; place: SessionPlace; holder: SessionRow; lease: string; fresh: boolean },
  ): Promise<AcquiredLease> {
    const { profile, place, holder, lease, fresh } = wanted;
    const key = agentKey(limitedAgent(profile, place.limits));
    const closed = await this.#evictUnfit(tx);
    const idle = fresh ? [] : await tx.pool.idle(key);
    const known = await firstUsedBy(tx, idle, holder.id);
    const taken = known ?? idle[0];
    const session = taken?.session ?? (await this.#open(tx, wanted));
    await this.hold(tx, session, { id: lease, holder: holder.id, since: this.#options.clock.now() }, holder, !taken);
    closed.push(...(await this.shrink(tx)));
    return { session, fresh: taken === undefined, closed };
  }

  /** Throws `conflict` if another caller holds it. */
  async hold(tx: StoreTx, session: SessionId, lease: Lease, holder: SessionRow, fresh: boolean): Promise<void> {
    await tx.pool.lease(session, lease);
    // Its current work belongs to this holder.
    await tx.sessions.update(session, { depth: holder.depth + 1, ask_policy: holder.ask_policy });
    const row = await tx.pool.get(session);
    const data = { key: row?.key ?? "", holder: holder.id, fresh };
    await tx.events.append({ type: "pool.leased", session, data }, this.#options.clock.now());
  }

  /** Does nothing if the lease has ended, even if another caller holds the session now. */
  async release(tx: StoreTx, session: SessionId, lease: string): Promise<ClosedSession[]> {
    const now = this.#options.clock.now();
    const row = await tx.pool.get(session);
    const ended = await tx.pool.release(session, lease, now);
    if (ended && row?.lease) {
      const data = { key: row.key, holder: row.lease.holder };
      await tx.events.append({ type: "pool.released", session, data }, now);
    }
    return [...(await this.retire(tx)), ...(await this.shrink(tx))];
  }

  /** Releases sessions whose agent was removed or has changed. Working sessions are released after their task. */
  async retire(tx: StoreTx): Promise<ClosedSession[]> {
    const closed: ClosedSession[] = [];
    for (const row of await tx.pool.idleForLongest())
      if (await this.isStale(tx, row)) closed.push(await this.#evict(tx, row, "its agent has changed"));
    return closed;
  }

  /** Evicts down to the cap, least recently used first. Working sessions may exceed the cap. */
  async shrink(tx: StoreTx): Promise<ClosedSession[]> {
    const over = (await tx.pool.count()) - this.#options.max();
    if (over <= 0) return [];
    const closed: ClosedSession[] = [];
    for (const row of (await tx.pool.idleForLongest()).slice(0, over)) {
      closed.push(await this.#evict(tx, row, "the pool is full"));
    }
    return closed;
  }

  /** True if the session has exactly the rights of this place in the tree. */
  fits(row: PooledAgent, profile: Agent, { limits }: SessionPlace): boolean {
    return sameKey(agentKey(limitedAgent(profile, limits)), row);
  }

  /** True if its agent was removed or has changed. */
  async isStale(from: StoreReads | StoreTx, row: PooledAgent): Promise<boolean> {
    const session = await from.sessions.get(row.session);
    const profile = session === null ? null : this.#options.agents.loadAgent(session.agent);
    if (session === null || profile === null) return true;
    return !sameKey(agentKey(limitedAgent(profile, session.limits)), row);
  }

  async #open(
    tx: StoreTx,
    { profile, place, lease }: { profile: Agent; place: SessionPlace; lease: string },
  ): Promise<SessionId> {
    const key = agentKey(limitedAgent(profile, place.limits));
    const now = this.#options.clock.now();
    const shown = shownKey(key);
    const { row } = await this.#options.sessions.createIn(tx, {
      // The id is stable if the transaction is retried.
      id: derivedId("ses", `pool/${lease}`),
      agent: profile.ref,
      title: shown,
      place,
    });
    await tx.pool.insert({
      session: row.id,
      key: shown,
      ...key,
      uses: 0,
      created_at: now,
      last_used_at: now,
      lease: null,
    });
    return row.id;
  }

  /** Excludes sessions whose agent has changed or whose conversation is lost. */
  async #evictUnfit(tx: StoreTx): Promise<ClosedSession[]> {
    const closed = await this.retire(tx);
    for (const row of await tx.pool.idleForLongest()) {
      if (await hasForgotten(tx, row.session))
        closed.push(await this.#evict(tx, row, "its agent could not be resumed after a restart"));
    }
    return closed;
  }

  async #evict(tx: StoreTx, { session, key }: PooledAgent, reason: string): Promise<ClosedSession> {
    await tx.events.append({ type: "pool.evicted", session, data: { key, reason } }, this.#options.clock.now());
    return this.#options.sessions.closeIn(tx, session, `it left the pool: ${reason}`);
  }
}

async function firstUsedBy(
  tx: StoreTx,
  idle: readonly PooledAgent[],
  holder: SessionId,
): Promise<PooledAgent | undefined> {
  for (const row of idle) if (await tx.pool.wasUsedBy(row.session, holder)) return row;
  return undefined;
}

/** The identity and everything that affects the agent's work. A change makes it a different agent. */
function agentKey(agent: Agent): AgentKey {
  const { source, plugin, slug, ref: _, overrides: __, description: ___, file: ____, on_crash: _____, ...work } = agent;
  const config_hash = createHash("sha256").update(JSON.stringify(work)).digest("hex").slice(0, 32);
  return { source, plugin, slug, config_hash };
}

function sameKey(a: AgentKey, b: AgentKey): boolean {
  return a.source === b.source && a.plugin === b.plugin && a.slug === b.slug && a.config_hash === b.config_hash;
}

/** Only for display: `a` with `b-c` looks the same as `a-b` with `c`. */
function shownKey({ plugin, slug }: Pick<AgentKey, "plugin" | "slug">): string {
  return plugin === null ? `agent-${slug}` : `plugin-${plugin}-${slug}`;
}
