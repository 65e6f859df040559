/**
 * Selects the one node that runs the channels. The claim is a stored position; it is free once the node that made it is
 * lost, which that node cannot survive unnoticed: it is fenced.
 */
import type { Clock } from "@aegis/lib/clock.ts";
import type { Store, StoreReads } from "@aegis/store/store.ts";

const key = "node:channels";

export class SoleHolder {
  readonly #store: Store;
  readonly #clock: Clock;
  #holds: boolean;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#holds = store.membership === undefined;
  }

  /** Always true without a cluster. */
  get holds(): boolean {
    return this.#holds;
  }

  /** The live node that holds the claim; null if it is this one, or none. */
  async node(): Promise<string | null> {
    const held = this.#holds ? null : await this.#store.read.channels.cursor(key);
    if (!held?.position) return null;
    return (await isAlive(this.#store.read, held.position)) ? nodeIn(held.position) : null;
  }

  /** Takes the claim if it is free. Returns true if this node holds it now and did not before. */
  async claim(): Promise<boolean> {
    const { membership } = this.#store;
    if (this.#holds || membership === undefined) return false;
    const own = `${membership.incarnation} ${membership.node}`;
    this.#holds = await this.#store.transact(async (tx) => {
      const held = (await tx.channels.cursor(key))?.position ?? null;
      if (held === own) return true;
      if (held !== null && (await isAlive(tx, held))) return false;
      await tx.channels.setCursor(key, own, this.#clock.now());
      return true;
    });
    return this.#holds;
  }
}

function nodeIn(held: string): string {
  return held.slice(held.indexOf(" ") + 1);
}

async function isAlive(tx: Pick<StoreReads, "nodes">, held: string): Promise<boolean> {
  const incarnation = held.split(" ", 1)[0];
  const node = await tx.nodes.get(nodeIn(held));
  return node?.alive === true && node.incarnation === Number(incarnation);
}
