/** `npm run chaos -- --cluster`: see chaos/main.ts. */
import { rm } from "node:fs/promises";
import { slowness } from "../../test/helpers/slowness.ts";
import { Agents } from "../agents.ts";
import { endDaemons } from "../daemon.ts";
import { Delegation } from "../delegation.ts";
import { Messages } from "../messages.ts";
import { createFolder } from "../project.ts";
import { createRandom, type Random } from "../random.ts";
import { report, say } from "../report.ts";
import type { Scenario } from "../scenario.ts";
import { Schedules } from "../schedules.ts";
import { Workflows } from "../workflows.ts";
import { type Fault, faults } from "./faults.ts";
import { ChaosNode } from "./node.ts";
import { startProxy } from "./proxy.ts";
import type { Window } from "./refusals.ts";
import { ClusterRounds } from "./rounds.ts";
import { startServer } from "./server.ts";

export type ClusterOptions = {
  rounds: number;
  seed: number;
  keep: boolean;
  /** Only this fault. */
  fault: string | undefined;
};

export const nodeNames = ["one", "two", "three"];
/** A node that starts on a busy machine must be able to renew its lease. */
const leaseSeconds = Math.min(6, Math.max(3, Math.ceil(slowness())));
/** Sessions with files of a node never move, so that their processes stay what they are. */
export const clusterSection = { lease: `${leaseSeconds}s`, give_up: "30d" };
const roundMs = 3_000;
const mostPending = 8;

export async function runCluster(options: ClusterOptions): Promise<number> {
  const random = createRandom(options.seed);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  await using scope = new AsyncDisposableStack();
  const server = await startServer();
  scope.defer(() => server.close());
  if (server.fill === null) say("this user may not mount a small disk: a full disk is left out");
  const base = await createFolder();
  const scenarios = clusterScenarios(random, options.rounds);
  const files: Record<string, string> = Object.assign({}, ...scenarios.map((one) => one.files));
  const stage = await Promise.all(
    nodeNames.map(async (name) => {
      const proxy = await startProxy(server.socket);
      scope.defer(() => proxy.close());
      const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
      const node = await ChaosNode.create({ name, base, files, url, cluster: clusterSection });
      scope.defer(() => endNode(node));
      return { node, proxy };
    }),
  );
  say(
    `seed ${options.seed}, ${options.rounds} rounds, ${nodeNames.length} nodes with a lease of ${leaseSeconds} s, in ${base}`,
  );
  const nextFault = shuffled(chosenFaults(options.fault, server.fill !== null), random);
  const fullDisk: Window[] = [];
  const play = new ClusterRounds({
    ...{ base, scenarios, random, url: () => server.url, stopping: stop.signal },
    nodes: stage.map(({ node }) => node),
    fullDisk: () => fullDisk,
    async fault() {
      const [name, fault] = nextFault();
      await fault({ nodes: stage, server, random, fullDisk, leaseMs: leaseSeconds * 1_000 });
      return name;
    },
  });
  const { rounds, findings, counts } = await play.run(options.rounds);
  for (const [what, count] of Object.entries(counts)) say(`  ${count} ${what}`);
  report(`${rounds} rounds`, findings);
  if (findings.length > 0)
    say(`the folders are kept in ${base}; the same again: --cluster --rounds ${options.rounds} --seed ${options.seed}`);
  else if (!options.keep) scope.defer(() => rm(base, { recursive: true, force: true, maxRetries: 3 }));
  return findings.length === 0 ? 0 : 1;
}

/** The load of every node. */
export function clusterScenarios(random: Random, rounds: number): Scenario[] {
  return [
    new Messages(random, 2, mostPending),
    new Workflows(),
    new Agents(random),
    new Delegation(random),
    new Schedules(random, { rounds, roundMs, adds: false }),
  ];
}

export async function endNode(node: ChaosNode): Promise<void> {
  node.signal("SIGCONT");
  await node.kill();
  endDaemons(node.folder);
}

function chosenFaults(only: string | undefined, hasDisk: boolean): [string, Fault][] {
  const all = Object.entries(faults).filter(([name]) => hasDisk || name !== "full disk");
  if (only === undefined) return all;
  const chosen = all.filter(([name]) => name === only);
  if (chosen.length === 0) throw new Error(`--fault ${only}: expected one of ${all.map(([name]) => name).join(", ")}`);
  return chosen;
}

/** Each fault in turn, in an order that changes, so that short runs meet all of them too. */
function shuffled<T>(items: readonly T[], random: Random): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = [...items];
    const item = random.pick(left);
    left.splice(left.indexOf(item), 1);
    return item;
  };
}
