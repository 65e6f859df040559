/** The nodes of the cluster for people: lists them and changes what they do. */

import { AegisError } from "@aegis/contract/errors.ts";
import type { NodeView } from "@aegis/contract/node.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { labelsOf, labelWords, nodeFor } from "@aegis/nodes/placement.ts";
import type { NodeRow, Store } from "@aegis/store/store.ts";
import { agreedHash } from "./agreement.ts";
import { sessionsOf } from "./moves.ts";
import type { TakeOver } from "./take-over.ts";

export type NodesOptions = { store: Store; clock: Clock; node: string; takeOver: Pick<TakeOver, "giveUp"> };

export class Nodes {
  readonly #options: NodesOptions;

  constructor(options: NodesOptions) {
    this.#options = options;
  }

  async list(): Promise<NodeView[]> {
    const { store, node } = this.#options;
    const [rows, sessions] = await Promise.all([store.read.nodes.list(), store.read.nodes.sessions()]);
    const agreed = agreedHash(rows);
    return rows.map((row) => {
      const { name, incarnation, url, version, labels, joined_at, lost_at } = row;
      const drifted = row.config_hash !== null && row.config_hash !== agreed;
      return {
        name,
        incarnation,
        url,
        version,
        labels: [...labels],
        joined_at,
        lost_at,
        state: stateOf(row),
        here: name === node,
        sessions: sessions.get(name) ?? 0,
        max_sessions: row.sessions_max,
        drifted: stateOf(row) !== "lost" && drifted,
      };
    });
  }

  /** The node takes no new work; its idle sessions move to other nodes. */
  drain(name: string): Promise<NodeView> {
    return this.#setDraining(name, true);
  }

  resume(name: string): Promise<NodeView> {
    return this.#setDraining(name, false);
  }

  /** Removes a lost node. Its sessions go on here; those whose memory was there begin a new conversation. */
  async forget(name: string): Promise<{ moved: number }> {
    const { store, clock, takeOver } = this.#options;
    const row = await this.#get(name);
    if (row.alive)
      throw new AegisError("conflict", `node "${name}" is ${stateOf(row)}: only a lost node can be forgotten`, {
        hint: row.lease_ms > 0 ? "stop it first: aegis down, on its machine" : "try again when its lease has ended",
      });
    await this.#requirePlaces(name);
    const moved = await takeOver.giveUp(row);
    await store.transact(async (tx) => {
      const now = await tx.nodes.get(name);
      if (now?.alive !== false) throw new AegisError("conflict", `node "${name}" has joined again`);
      await tx.nodes.remove(name);
      const data = { node: name, state: "forgotten" as const };
      await tx.events.append({ type: "node.changed", session: null, data }, clock.now());
    });
    return { moved };
  }

  /** A session that no node may run would belong to a node that does not exist. */
  async #requirePlaces(name: string): Promise<void> {
    const { store, node } = this.#options;
    for (const session of await sessionsOf(store.read, name)) {
      const labels = labelsOf(session);
      if ((await nodeFor(store.read, node, labels)) !== null) continue;
      throw new AegisError("conflict", `no node with ${labelWords(labels)} takes work for "${session.handle}"`, {
        hint: `start such a node, or close the session: aegis close ${session.handle}`,
      });
    }
  }

  async #setDraining(name: string, draining: boolean): Promise<NodeView> {
    const { store, clock } = this.#options;
    const { draining: before } = await this.#get(name);
    if (before !== draining)
      await store.transact(async (tx) => {
        await tx.nodes.describe(name, { draining });
        const data = { node: name, state: draining ? ("draining" as const) : ("resumed" as const) };
        await tx.events.append({ type: "node.changed", session: null, data }, clock.now());
      });
    const view = (await this.list()).find((one) => one.name === name);
    if (view === undefined) throw new AegisError("not_found", `no node "${name}"`);
    return view;
  }

  async #get(name: string): Promise<NodeRow> {
    const rows = await this.#options.store.read.nodes.list();
    const found = rows.find((row) => row.name === name);
    if (found !== undefined) return found;
    const names = rows.map((row) => row.name);
    throw new AegisError("not_found", `no node "${name}"${didYouMean(name, names)}`, {
      hint: `nodes: ${names.join(", ")}`,
    });
  }
}

function stateOf({ alive, lease_ms, draining }: NodeRow): NodeView["state"] {
  if (!alive || lease_ms < 0) return "lost";
  return draining ? "draining" : "up";
}
