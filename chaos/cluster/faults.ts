/** What goes wrong in a round. Each fault is over when it resolves, and then everything runs again. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../random.ts";
import type { ChaosNode } from "./node.ts";
import type { Wire } from "./proxy.ts";
import type { Pulse } from "./pulse.ts";
import type { Window } from "./refusals.ts";
import type { ChaosServer } from "./server.ts";

export type Stage = {
  nodes: readonly { node: ChaosNode; proxy: Wire }[];
  server: ChaosServer;
  leaseMs: number;
  random: Random;
  /** When a disk was full. */
  fullDisk: Window[];
  pulse: Pulse;
};

export type Fault = (stage: Stage) => Promise<void>;

const hourMs = 3_600_000;
/** A write that failed is repeated after a pause. */
const settleMs = 10_000;

/** Picks a node that fails, and measures whether the others go on. */
async function withOneOf<T>(stage: Stage, what: string, fail: (one: Stage["nodes"][number]) => Promise<T>): Promise<T> {
  const failing = stage.random.pick(stage.nodes);
  const others = stage.nodes.filter((one) => one !== failing).map(({ node }) => node);
  return await stage.pulse.during(what, others, () => fail(failing));
}

/** From half a lease, which no other node notices, to three leases. */
const leases = ({ leaseMs, random }: Stage, most = 3) => delay(leaseMs * (0.5 + random.next() * (most - 0.5)));

export const faults: Readonly<Record<string, Fault>> = {
  async "kill of a node"(stage) {
    await withOneOf(stage, "kill", async ({ node }) => {
      await node.kill();
      await delay(stage.random.between(0, 2 * stage.leaseMs));
      await node.ensure();
    });
  },

  async "kill of all nodes but one"(stage) {
    const spared = stage.random.pick(stage.nodes);
    const others = stage.nodes.filter((one) => one !== spared);
    await Promise.all(others.map(({ node }) => node.kill()));
    await delay(stage.random.between(0, 2 * stage.leaseMs));
    await Promise.all(others.map(({ node }) => node.ensure()));
  },

  async "freeze of a node"(stage) {
    await withOneOf(stage, "freeze", async ({ node }) => {
      node.signal("SIGSTOP");
      try {
        await leases(stage);
      } finally {
        node.signal("SIGCONT");
      }
    });
  },

  async "kill of the server"({ server, random, leaseMs }) {
    await server.end("kill");
    await delay(random.between(0, leaseMs));
    await server.ensure();
  },

  async "stop of the server"(stage) {
    await stage.server.end("stop");
    await leases(stage, 2);
    await stage.server.ensure();
  },

  async "cut of the network"(stage) {
    await withOneOf(stage, "cut of the network", async ({ proxy }) => {
      proxy.set("refused");
      await leases(stage);
      proxy.set("open");
    });
  },

  async "silent network"(stage) {
    await withOneOf(stage, "silent network", async ({ proxy }) => {
      proxy.set("stalled");
      await leases(stage);
      // Some of what was held up arrives after all, or none of it.
      if (stage.random.next() < 0.5) proxy.set("refused");
      proxy.set("open");
    });
  },

  async "clock of a node"(stage) {
    const { node } = stage.random.pick(stage.nodes);
    await node.setClock(stage.random.pick([hourMs, -hourMs]));
    await leases(stage, 2);
    // A process that starts while its clock is wrong refuses to work.
    await node.setClock(0);
  },

  async "full disk"(stage) {
    const { server } = stage;
    if (server.fill === null) return;
    const from = Date.now();
    const free = await server.fill();
    try {
      await leases(stage, 2);
    } finally {
      await free();
    }
    // A server that could not write its log has ended.
    await server.ensure();
    stage.fullDisk.push({ from, to: Date.now() + settleMs });
  },

  /** Its log, its mirrors and the files of its agents. */
  async "full disk of a node"(stage) {
    await withOneOf(stage, "full disk", async ({ node }) => {
      const from = Date.now();
      const free = await node.fill?.();
      if (free === undefined) return;
      try {
        // Also a node that has to join again meets it.
        if (stage.random.next() < 0.5) node.signal("SIGSTOP");
        await leases(stage);
        node.signal("SIGCONT");
        await leases(stage, 2);
      } finally {
        node.signal("SIGCONT");
        await free();
      }
      stage.fullDisk.push({ from, to: Date.now() + settleMs });
    });
  },
};
