/** `npm run chaos -- --cluster`: see chaos/main.ts. */
import { rm } from "node:fs/promises";
import { slowness } from "../../test/helpers/slowness.ts";
import { Agents } from "../agents.ts";
import { Delegation } from "../delegation.ts";
import { Messages } from "../messages.ts";
import { createFolder } from "../project.ts";
import { createRandom, type Random } from "../random.ts";
import { report, say } from "../report.ts";
import type { Scenario } from "../scenario.ts";
import { Schedules } from "../schedules.ts";
import { type Stop, StoppedError } from "../stop.ts";
import { Workflows } from "../workflows.ts";
import { type Fault, faults } from "./faults.ts";
import { ChaosNode } from "./node.ts";
import { startProxy } from "./proxy.ts";
import { Pulse } from "./pulse.ts";
import type { Window } from "./refusals.ts";
import { ClusterRounds } from "./rounds.ts";
import { startServer } from "./server.ts";

export type ClusterOptions = {
  rounds: number;
  seed: number;
  keep: boolean;
  /** Only these. Default: all. */
  faults: readonly string[] | undefined;
};

export const nodeNames = ["one", "two", "three"];
/** A node that starts on a busy machine must be able to renew its lease. */
const leaseSeconds = Math.min(6, Math.max(3, Math.ceil(slowness())));
/** Sessions with files of a node never move, so that their processes stay what they are. */
export const clusterSection = { lease: `${leaseSeconds}s`, give_up: "30d" };
const roundMs = 3_000;
const mostPending = 8;
const nodeDiskMb = 256;

export async function runCluster(options: ClusterOptions, stop: Stop): Promise<number> {
  const random = createRandom(options.seed);
  requireFaults(options.faults);
  await using scope = new AsyncDisposableStack();
  const server = await startServer();
  scope.defer(() => server.close());
  if (server.fill === null) say("this user may not mount a small disk: full disks are left out");
  const files = await createFiles(options.keep, scope);
  const { base } = files;
  const scenarios = clusterScenarios(random, options.rounds);
  const stage = await Promise.all(
    nodeNames.map(async (name) => {
      const proxy = await startProxy(server.socket);
      scope.defer(() => proxy.close());
      const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
      const node = await ChaosNode.create({
        name,
        base,
        url,
        cluster: clusterSection,
        files: filesOf(scenarios),
        ...(server.fill === null ? {} : { diskMb: nodeDiskMb }),
      });
      scope.defer(() => node.close(files.isKept));
      return { node, proxy };
    }),
  );
  say(
    `seed ${options.seed}, ${options.rounds} rounds, ${nodeNames.length} nodes with a lease of ${leaseSeconds} s, in ${base}`,
  );
  const nextFault = shuffled(chosenFaults(options.faults, server.fill !== null), random);
  const fullDisk: Window[] = [];
  const pulse = new Pulse();
  const play = new ClusterRounds({
    base,
    scenarios,
    random,
    url: () => server.url,
    stopping: stop.rounds,
    pulse,
    nodes: stage.map(({ node }) => node),
    fullDisk: () => fullDisk,
    async fault() {
      const [name, fault] = nextFault();
      await fault({ nodes: stage, server, random, fullDisk, pulse, leaseMs: leaseSeconds * 1_000 });
      return name;
    },
  });
  const { rounds, findings, counts } = await files.keptAfter(stop.orNow(play.run(options.rounds)));
  for (const [what, count] of Object.entries(counts)) say(`  ${count} ${what}`);
  report(`${rounds} rounds`, findings);
  if (findings.length > 0) {
    files.isKept = true;
    say(`the folders are kept in ${base}; the same again: --cluster --rounds ${options.rounds} --seed ${options.seed}`);
  }
  return findings.length === 0 ? 0 : 1;
}

export type Files = {
  base: string;
  isKept: boolean;
  /** Keeps the files if the work fails for another reason than a stop. */
  keptAfter<T>(work: Promise<T>): Promise<T>;
};

/** The folder of all nodes. The scope removes it unless it is kept. */
export async function createFiles(keep: boolean, scope: AsyncDisposableStack): Promise<Files> {
  const files: Files = {
    base: await createFolder(),
    isKept: keep,
    keptAfter: (work) =>
      work.catch((error: unknown) => {
        files.isKept ||= !(error instanceof StoppedError);
        throw error;
      }),
  };
  scope.defer(async () => {
    if (!files.isKept) await rm(files.base, { recursive: true, force: true, maxRetries: 3 });
  });
  return files;
}

export function filesOf(scenarios: readonly Scenario[]): Record<string, string> {
  return Object.assign({}, ...scenarios.map((one) => one.files));
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

function requireFaults(names: readonly string[] = []): void {
  for (const name of names)
    if (!Object.hasOwn(faults, name))
      throw new Error(`--fault ${name}: expected one of ${Object.keys(faults).join(", ")}`);
}

function chosenFaults(only: readonly string[] | undefined, hasDisk: boolean): [string, Fault][] {
  const able = Object.entries(faults).filter(([name]) => hasDisk || !name.startsWith("full disk"));
  const chosen = able.filter(([name]) => only === undefined || only.includes(name));
  if (chosen.length === 0) throw new Error("--fault: this user may not mount a small disk");
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
