/**
 * `npm run chaos -- --cluster --failover`: the primary is killed and its synchronous standby promoted, again and again.
 * At the end a standby without the last commits is promoted: every node must stop.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { noStandby, type Pair, startPair } from "../../test/helpers/postgres-pair.ts";
import { scaled } from "../../test/helpers/slowness.ts";
import type { Finding } from "../check.ts";
import { createRandom } from "../random.ts";
import { report, say } from "../report.ts";
import { until } from "../scenario.ts";
import type { Stop } from "../stop.ts";
import { type ClusterOptions, clusterScenarios, clusterSection, createFiles, filesOf, nodeNames } from "./main.ts";
import { ChaosNode, patiently } from "./node.ts";
import { ClusterRounds } from "./rounds.ts";

/** How long a promoted standby may be there before every node has written to it, on an idle machine. */
const continueMs = 5_000;
const mostOutageMs = 1_000;
const stopDeadlineMs = 60_000;

export async function runFailover(options: ClusterOptions, stop: Stop): Promise<number> {
  if (noStandby !== null) {
    say(`skipped: a standby needs pg_basebackup of PostgreSQL 15, which is ${noStandby}`);
    return 0;
  }
  const random = createRandom(options.seed);
  await using scope = new AsyncDisposableStack();
  const pair = await startPair();
  scope.defer(() => pair.stop());
  const url = pair.url(pair.primary, pair.standby);
  const files = await createFiles(options.keep, scope);
  const { base } = files;
  const scenarios = clusterScenarios(random, options.rounds);
  const nodes = await Promise.all(
    nodeNames.map(async (name) => {
      const node = await ChaosNode.create({ name, base, files: filesOf(scenarios), url, cluster: clusterSection });
      scope.defer(() => node.close(files.isKept));
      return node;
    }),
  );
  say(`seed ${options.seed}, ${options.rounds} promotions, ${nodeNames.length} nodes, in ${base}`);
  const times: number[] = [];
  const fault = async () => {
    await pair.killPrimary();
    await delay(random.between(0, mostOutageMs));
    pair.promote();
    times.push(await untilAllWrite(nodes));
    await pair.rebuild();
    return "kill of the primary and promotion of its standby";
  };
  const play = new ClusterRounds({
    base,
    scenarios,
    random,
    nodes,
    fault,
    url: () => pair.url(pair.primary),
    stopping: stop.rounds,
  });
  const { rounds, findings, counts } = await files.keptAfter(stop.orNow(play.run(options.rounds)));
  const all = [...findings, ...tooLong(times), ...(await loseCommits(pair, nodes, patiently(nodes, random)))];
  for (const [what, count] of Object.entries(counts)) say(`  ${count} ${what}`);
  say(`  every node wrote again after ${describeTimes(times)} of a promotion`);
  report(`${rounds} promotions`, all);
  if (all.length > 0) {
    files.isKept = true;
    say(`the folders are kept in ${base}`);
  }
  return all.length === 0 ? 0 : 1;
}

/** Sends one message at each node. Returns after how many milliseconds the last of them was acknowledged. */
async function untilAllWrite(nodes: readonly ChaosNode[]): Promise<number> {
  const from = performance.now();
  await Promise.all(
    nodes.map((node) => until(`a write of node ${node.name}`, scaled(60_000), () => wrote(node).catch(() => false))),
  );
  return performance.now() - from;
}

async function wrote(node: ChaosNode): Promise<boolean> {
  const client = await node.client();
  await send(client, await sink(client));
  return true;
}

async function sink(client: Client): Promise<SessionId> {
  const { sessions } = await client.call("listSessions");
  const found = sessions.find(({ handle }) => handle === "sink-one");
  if (found === undefined) throw new Error("no session sink-one");
  return found.id;
}

function send(client: Client, session: SessionId) {
  return client.call("sendMessage", {
    path: { session },
    body: { id: newId("msg", Date.now()), text: "still there?" },
  });
}

function tooLong(times: readonly number[]): Finding[] {
  const most = scaled(continueMs);
  return times
    .filter((ms) => ms > most)
    .map((ms) => ({
      kind: "different",
      what: `nodes needed ${Math.round(ms)} ms after a promotion, more than ${most}`,
    }));
}

function describeTimes(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => `${((sorted[Math.floor((sorted.length - 1) * share)] ?? 0) / 1_000).toFixed(1)} s`;
  return `${at(0.5)} (median), ${at(1)} (longest)`;
}

/** Promotes a standby that has not got the last commits. Each node must end and say why. */
async function loseCommits(pair: Pair, nodes: readonly ChaosNode[], client: Client): Promise<Finding[]> {
  await pair.detach();
  const session = await sink(client);
  for (let count = 0; count < 5; count += 1) await send(client, session);
  await pair.killPrimary();
  pair.promote();
  const findings = await Promise.all(
    nodes.map(async (node): Promise<Finding[]> => {
      try {
        await until(`the end of node ${node.name}`, scaled(stopDeadlineMs), async () => !node.isRunning);
      } catch {
        return [{ kind: "different", what: `node ${node.name} went on without the commits that the server lost` }];
      }
      const log = await readFile(join(node.folder, "daemon.log"), "utf8");
      if (log.includes("has lost commits")) return [];
      return [{ kind: "different", what: `node ${node.name} stopped without saying that commits were lost` }];
    }),
  );
  if (findings.every((one) => one.length === 0))
    say(`  ${nodes.length} nodes stopped when a standby without the last commits was promoted, and said why`);
  return findings.flat();
}
