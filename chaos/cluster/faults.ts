/** What goes wrong in a round. Each fault is over when it resolves, and then everything runs again. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../random.ts";
import type { ChaosNode } from "./node.ts";
import type { Wire } from "./proxy.ts";
import type { Window } from "./refusals.ts";
import type { ChaosServer } from "./server.ts";

export type Stage = {
  nodes: readonly { node: ChaosNode; proxy: Wire }[];
  server: ChaosServer;
  leaseMs: number;
  random: Random;
  /** When the disk was full. */
  fullDisk: Window[];
};

export type Fault = (stage: Stage) => Promise<void>;

const hourMs = 3_600_000;
/** A write that failed is repeated after a pause. */
const settleMs = 10_000;

/** From half a lease, which no other node notices, to three leases. */
const leases = ({ leaseMs, random }: Stage, most = 3) => delay(leaseMs * (0.5 + random.next() * (most - 0.5)));

export const faults: Readonly<Record<string, Fault>> = {
  async "kill of a node"(stage) {
    const { node } = stage.random.pick(stage.nodes);
    await node.kill();
    await delay(stage.random.between(0, 2 * stage.leaseMs));
    await node.ensure();
  },

  async "kill of all nodes but one"(stage) {
    const spared = stage.random.pick(stage.nodes);
    const others = stage.nodes.filter((one) => one !== spared);
    await Promise.all(others.map(({ node }) => node.kill()));
    await delay(stage.random.between(0, 2 * stage.leaseMs));
    await Promise.all(others.map(({ node }) => node.ensure()));
  },

  async "freeze of a node"(stage) {
    const { node } = stage.random.pick(stage.nodes);
    node.signal("SIGSTOP");
    try {
      await leases(stage);
    } finally {
      node.signal("SIGCONT");
    }
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
    const { proxy } = stage.random.pick(stage.nodes);
    proxy.set("refused");
    await leases(stage);
    proxy.set("open");
  },

  async "silent network"(stage) {
    const { proxy } = stage.random.pick(stage.nodes);
    proxy.set("stalled");
    await leases(stage);
    // Some of what was held up arrives after all, or none of it.
    if (stage.random.next() < 0.5) proxy.set("refused");
    proxy.set("open");
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
};
