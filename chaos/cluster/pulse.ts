/** How long a node has to wait for a write while another node fails: it must not be held up for longer than the bar. */
import { setTimeout as delay } from "node:timers/promises";
import { scaled } from "../../test/helpers/slowness.ts";
import type { Finding } from "../check.ts";
import type { ChaosNode } from "./node.ts";

/** On an idle machine: the server ends a transaction that stands still after two seconds. */
const mostPauseMs = 2_500;
const everyMs = 100;
const answerMs = 120_000;

export class Pulse {
  readonly #longest = new Map<string, number>();
  readonly #findings: Finding[] = [];

  /** Lets each node write again and again while something happens to others. */
  during<T>(what: string, nodes: readonly ChaosNode[], work: () => Promise<T>): Promise<T> {
    const most = scaled(mostPauseMs);
    return this.#beat(what, nodes, work, (node, ms) => {
      if (ms <= most) return;
      const paused = `node ${node.name} paused ${Math.round(ms)} ms during ${what} of another node`;
      this.#findings.push({ kind: "different", what: `${paused}, more than ${most}` });
    });
  }

  /** The same while nothing fails, to compare with: on a busy machine every write takes its time. */
  beforehand<T>(nodes: readonly ChaosNode[], work: () => Promise<T>): Promise<T> {
    return this.#beat("nothing fails", nodes, work, () => {});
  }

  async #beat<T>(
    what: string,
    nodes: readonly ChaosNode[],
    work: () => Promise<T>,
    judge: (node: ChaosNode, longestMs: number) => void,
  ): Promise<T> {
    const done = new AbortController();
    const beating = nodes.map(async (node) => {
      const ms = await longestWrite(node, done.signal);
      this.#longest.set(what, Math.max(ms, this.#longest.get(what) ?? 0));
      judge(node, ms);
    });
    try {
      return await work();
    } finally {
      done.abort();
      await Promise.all(beating);
    }
  }

  check(): { findings: Finding[]; counts: Record<string, number> } {
    const counts = [...this.#longest]
      .toSorted()
      .map(([what, ms]) => [`ms: the longest pause of other nodes, ${what}`, Math.round(ms)]);
    return { findings: this.#findings, counts: Object.fromEntries(counts) };
  }
}

/** The state of a node includes whether it can write: it commits a unit that changes nothing. */
async function longestWrite(node: ChaosNode, done: AbortSignal): Promise<number> {
  let longest = 0;
  while (!done.aborted) {
    const from = performance.now();
    try {
      const { store } = await (await node.client()).call("status", { signal: AbortSignal.timeout(answerMs) });
      if (store.writable) longest = Math.max(longest, performance.now() - from);
    } catch {
      // It is fenced or has ended, which others look for.
    }
    await delay(everyMs);
  }
  return longest;
}
