/**
 * Who holds which pooled session. A lease is written together with the message it is for, counts for one holder, and ends
 * once; who has no holder and nothing to do may be evicted.
 */
import type { Agent } from "../../contract/agent.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { SessionLimits } from "../../contract/session.ts";
import type { Lease, PooledAgent } from "../../contract/subagent.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, StoreReads, StoreTx } from "../../store/store.ts";
import { derivedId } from "../inbox/derived-id.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import { limitedAgent } from "../registry/limits.ts";
import type { Closed } from "../sessions/close.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { agentKey, sameKey, shownKey } from "./key.ts";

export type LeasesOptions = {
  clock: Clock;
  agents: AgentRegistry;
  sessions: Sessions;
  max: () => number;
  /** Whether the session's agent still knows, or can be told again, what was said before. */
  remembers: (session: SessionRow) => boolean;
};

export type Acquired = { session: SessionId; fresh: boolean; closed: Closed[] };

export class Leases {
  readonly #options: LeasesOptions;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** An idle session of that very agent, the holder's own last one first, or a new one. */
  async acquire(
    tx: StoreTx,
    wanted: { profile: Agent; limits: SessionLimits; holder: SessionRow; lease: string; fresh: boolean },
  ): Promise<Acquired> {
    const { profile, limits, holder, lease, fresh } = wanted;
    const key = agentKey(limitedAgent(profile, limits));
    const closed = await this.#evictUnfit(tx);
    const idle = fresh ? [] : await tx.pool.idle(key);
    const known = await firstUsedBy(tx, idle, holder.id);
    const taken = known ?? idle[0];
    const session = taken?.session ?? (await this.#open(tx, wanted));
    await this.hold(tx, session, { id: lease, holder: holder.id, since: this.#options.clock.now() }, holder, !taken);
    closed.push(...(await this.shrink(tx)));
    return { session, fresh: taken === undefined, closed };
  }

  /** Throws `conflict` when somebody holds it. */
  async hold(tx: StoreTx, session: SessionId, lease: Lease, holder: SessionRow, fresh: boolean): Promise<void> {
    await tx.pool.lease(session, lease);
    // What it does now, it does for this holder.
    await tx.sessions.update(session, { depth: holder.depth + 1, ask_policy: holder.ask_policy });
    const row = await tx.pool.get(session);
    const data = { key: row?.key ?? "", holder: holder.id, fresh };
    await tx.events.append({ type: "pool.leased", session, data }, this.#options.clock.now());
  }

  /** A lease that is over already is left alone, whoever holds the session now. */
  async release(tx: StoreTx, session: SessionId, lease: string): Promise<Closed[]> {
    const now = this.#options.clock.now();
    const row = await tx.pool.get(session);
    const ended = await tx.pool.release(session, lease, now);
    if (ended && row?.lease) {
      const data = { key: row.key, holder: row.lease.holder };
      await tx.events.append({ type: "pool.released", session, data }, now);
    }
    return [...(await this.retire(tx)), ...(await this.shrink(tx))];
  }

  /** Lets those go whose agent is gone or has changed. Who is at work goes when its task is over. */
  async retire(tx: StoreTx): Promise<Closed[]> {
    const closed: Closed[] = [];
    for (const row of await tx.pool.idleForLongest())
      if (await this.isStale(tx, row)) closed.push(await this.#evict(tx, row, "its agent has changed"));
    return closed;
  }

  /** Back to the cap, the longest unused first. More than the cap stay only while all of them are at work. */
  async shrink(tx: StoreTx): Promise<Closed[]> {
    const over = (await tx.pool.count()) - this.#options.max();
    if (over <= 0) return [];
    const closed: Closed[] = [];
    for (const row of (await tx.pool.idleForLongest()).slice(0, over)) {
      closed.push(await this.#evict(tx, row, "the pool is full"));
    }
    return closed;
  }

  /** True when its agent is gone or no longer what it was. */
  async isStale(from: StoreReads | StoreTx, row: PooledAgent): Promise<boolean> {
    const session = await from.sessions.get(row.session);
    const profile = session === null ? null : this.#options.agents.loadAgent(session.agent);
    if (session === null || profile === null) return true;
    return !sameKey(agentKey(limitedAgent(profile, session.limits)), row);
  }

  async #open(
    tx: StoreTx,
    { profile, limits, holder, lease }: { profile: Agent; limits: SessionLimits; holder: SessionRow; lease: string },
  ): Promise<SessionId> {
    const key = agentKey(limitedAgent(profile, limits));
    const now = this.#options.clock.now();
    const shown = shownKey(key);
    const { row } = await this.#options.sessions.createIn(tx, {
      // The same for a transaction that runs again.
      id: derivedId("ses", `pool/${lease}`),
      agent: profile.ref,
      title: shown,
      depth: holder.depth + 1,
      limits,
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

  /** Nobody is served by an agent that has changed, or that has forgotten what it is kept for. */
  async #evictUnfit(tx: StoreTx): Promise<Closed[]> {
    const closed = await this.retire(tx);
    for (const row of await tx.pool.idleForLongest()) {
      const session = await tx.sessions.get(row.session);
      if (session !== null && !this.#options.remembers(session))
        closed.push(await this.#evict(tx, row, "its agent could not be resumed after a restart"));
    }
    return closed;
  }

  async #evict(tx: StoreTx, { session, key }: PooledAgent, reason: string): Promise<Closed> {
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
