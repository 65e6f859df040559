/**
 * Takes over the work of nodes whose lease has ended. One transaction ends the membership of the node, settles what it
 * was doing, as a start after a crash does, and moves what can continue here.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { hasLabels, labelsOf, nodeFor } from "@aegis/nodes/placement.ts";
import type { Conversations } from "@aegis/sessions/conversations.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { NodeRow, SessionRow, Store, StoreTx } from "@aegis/store/store.ts";
import { type AgreementOptions, followAgreement } from "./agreement.ts";
import { tellAway } from "./away.ts";
import type { Lease } from "./lease.ts";
import { canMove, type MovesOptions, move, moveWithoutMemory, sessionsOf } from "./moves.ts";
import type { RecoveringPart } from "./recovery.ts";

export type TakeOverOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  resumesAnywhere: MovesOptions["resumesAnywhere"];
  conversations: Pick<Conversations, "close">;
  inbox: Pick<Inbox, "admitIn">;
  schedules: AgreementOptions["schedules"];
  sessions: Pick<Sessions, "wakeAll">;
  /** In the order of a start. */
  parts: readonly RecoveringPart[];
  lease: Pick<Lease, "steadyMs">;
  node: string;
  leaseMs: number;
  /** After this time, sessions of a lost node go on without their memory. */
  giveUpMs: number;
};

const longestPauseMs = 1_000;

export class TakeOver {
  readonly #options: TakeOverOptions;
  readonly #stop = new AbortController();
  #watching: Promise<void> = Promise.resolve();
  /** What is left to be done for work that was taken over. A step that fails is repeated at the next look. */
  #owed: (() => unknown)[] = [];

  constructor(options: TakeOverOptions) {
    this.#options = options;
  }

  start(): void {
    this.#watching = this.#watch();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  /**
   * Moves the sessions of a lost node here, also those that lose their memory, or to a node with the labels that they
   * require. Those whose labels no node has stay. Returns how many moved.
   */
  async giveUp({ name, incarnation }: NodeRow): Promise<number> {
    const { store, node, sessions } = this.#options;
    const moved = await store.transact(async (tx) => {
      const row = await tx.nodes.get(name);
      if (row === null || row.alive || row.incarnation !== incarnation) return 0;
      let count = 0;
      for (const one of await sessionsOf(tx, name)) {
        const target = await nodeFor(tx, node, labelsOf(one));
        if (target === null) continue;
        await moveWithoutMemory(tx, one, target, this.#options);
        count += 1;
      }
      return count;
    });
    if (moved > 0) await sessions.wakeAll();
    return moved;
  }

  async #watch(): Promise<void> {
    const { clock, log, leaseMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(Math.min(longestPauseMs, leaseMs / 6), signal).catch(() => {});
      if (signal.aborted) return;
      await this.#look().catch((error: unknown) => {
        if (!signal.aborted) log.warn("other nodes could not be checked", { error: errorText(error) });
      });
    }
  }

  async #look(): Promise<void> {
    const { store, lease, leaseMs, giveUpMs, node } = this.#options;
    await this.#settleOwed();
    const nodes = await store.read.nodes.list();
    await followAgreement(nodes, this.#options);
    // After an outage of the database, every node gets the time to renew its lease.
    if (lease.steadyMs < leaseMs) return;
    const own = nodes.find(({ name }) => name === node);
    const free = nodes.filter((one) => one.name !== node && one.alive && one.lease_ms > 0 && !one.draining);
    if (own !== undefined && free.length > 0) await this.#handOver(own, free);
    if (own?.draining === true && free.length > 0) return;
    for (const one of nodes) {
      if (one.name === node) continue;
      if (one.alive && one.lease_ms < 0) await this.#takeOver(one);
      else if (!one.alive && one.lost_at !== null && one.now - one.lost_at > giveUpMs) await this.giveUp(one);
      else if (!one.alive) await this.#placeLeft(one);
    }
  }

  async #takeOver(lost: NodeRow): Promise<void> {
    const { store, log, parts } = this.#options;
    const taken = await store.transact((tx) => this.#settle(tx, lost));
    if (taken === null) return;
    log.warn("took over the work of a lost node", { node: lost.name, moved: taken.moved, away: taken.away });
    this.#owed.push(...taken.owed);
    for (const { recovery } of parts) this.#owed.push(() => recovery?.resume?.());
    await this.#settleOwed();
  }

  async #settleOwed(): Promise<void> {
    const { log } = this.#options;
    const steps = this.#owed;
    this.#owed = [];
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        this.#owed.push(step);
        log.warn("a part did not continue the work of a lost node; trying again", { error: errorText(error) });
      }
    }
  }

  /** Null if the node renewed its lease, joined again, or another node was faster. */
  async #settle(tx: StoreTx, { name, incarnation }: NodeRow) {
    const { clock, node, parts } = this.#options;
    if (!(await tx.nodes.declareLost(name, incarnation))) return null;
    const owed: (() => unknown)[] = [];
    for (const { recovery } of parts) {
      const then = await recovery?.recoverIn?.(tx, name);
      if (then !== undefined) owed.push(then);
    }
    let [moved, away] = [0, 0];
    for (const session of await sessionsOf(tx, name)) {
      const target = (await canMove(tx, session, this.#options)) ? await nodeFor(tx, node, labelsOf(session)) : null;
      if (target !== null) {
        await move(tx, session, target, this.#options);
        moved += 1;
      } else {
        await tellAway(tx, session, this.#options);
        away += 1;
      }
    }
    await tx.nodes.moveWork(name, node);
    await tx.nodes.freeRuns(name);
    const data = { node: name, by: node, moved, away };
    await tx.events.append({ type: "node.lost", session: null, data }, clock.now());
    return { moved, away, owed };
  }

  /** Sessions that no node could take when their node was lost move when a node with their labels has joined. */
  async #placeLeft({ name, incarnation }: NodeRow): Promise<void> {
    const { store, node, sessions } = this.#options;
    const hasAny = (await sessionsOf(store.read, name)).some((one) => labelsOf(one).length > 0);
    if (!hasAny) return;
    const moved = await store.transact(async (tx) => {
      const row = await tx.nodes.get(name);
      if (row === null || row.alive || row.incarnation !== incarnation) return 0;
      let count = 0;
      for (const one of await sessionsOf(tx, name)) {
        if (labelsOf(one).length === 0 || !(await canMove(tx, one, this.#options))) continue;
        const target = await nodeFor(tx, node, labelsOf(one));
        if (target === null) continue;
        await move(tx, one, target, this.#options);
        count += 1;
      }
      return count;
    });
    if (moved > 0) await sessions.wakeAll();
  }

  /** A node gives idle sessions to others: all if it drains, else those that require labels it does not have. */
  async #handOver(own: NodeRow, free: readonly NodeRow[]): Promise<void> {
    const { store, node, conversations } = this.#options;
    const leaves = (one: SessionRow) => own.draining || !hasLabels(own, labelsOf(one));
    if (!(await sessionsOf(store.read, node)).some(leaves)) return;
    const moved = await store.transact(async (tx) => {
      const workers = new Set((await tx.tasks.dispatched(node)).map(({ worker }) => worker));
      const children = new Set((await tx.subagents.running()).flatMap(({ session, parent }) => [session, parent]));
      const ids: SessionId[] = [];
      for (const session of (await sessionsOf(tx, node)).filter(leaves)) {
        const { id, state } = session;
        const isBusy = state === "working" || workers.has(id) || children.has(id);
        if (isBusy || (await tx.messages.countPending(id)) > 0) continue;
        const able = free.filter((one) => hasLabels(one, labelsOf(session)));
        const target = able[ids.length % able.length];
        if (target === undefined || !(await canMove(tx, session, this.#options))) continue;
        await move(tx, session, target.name, this.#options);
        ids.push(id);
      }
      return ids;
    });
    for (const id of moved) await conversations.close(id);
  }
}
