/**
 * Simulates a large cluster on one PostgreSQL server: `node bench/cluster-scale.ts [nodes] [sessions] [threads]`. Prints
 * the connections in use, the rate and the waiting time of admitted messages, the lag of the feed, and how long the
 * others need to take over the nodes of a thread that ends without a word. Is not part of `npm run bench`.
 */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Client } from "pg";
import { installations, startPostgres } from "../test/helpers/postgres.ts";
import { percentile } from "./measure.ts";

export type ScalePlan = {
  url: string;
  schema: string;
  names: string[];
  sessions: number;
  leaseMs: number;
  everyMs: number;
};
export type Report = { kind: "report"; waits: number[]; lags: number[]; failures: number; tried: number };
export type ScaleMessage = { kind: "joined" } | { kind: "taken"; at: number } | Report;

const leaseMs = 10_000;
/** Each node admits one message in this time. */
const everyMs = 1_000;
const steadyMs = 20_000;

async function main(): Promise<void> {
  const [nodes = 50, sessions = 20, threads = 5] = process.argv.slice(2).map(Number);
  await using scope = new AsyncDisposableStack();
  const server = await startPostgres(installations[18], ["max_connections=600"]);
  scope.defer(() => server.stop());
  const url = server.url("postgres");
  const client = new Client(url);
  await client.connect();
  scope.defer(() => client.end());
  const say = (line: string) => void process.stdout.write(`${line}\n`);

  const names = Array.from({ length: nodes }, (_, index) => `node-${index}`);
  const taken: number[] = [];
  let count = 0;
  const allJoined = Promise.withResolvers<void>();
  const began = performance.now();
  const workers = Array.from({ length: threads }, (_, thread) => {
    const own = names.filter((_, index) => index % threads === thread);
    const plan: ScalePlan = { url, schema: "scale", names: own, sessions, leaseMs, everyMs };
    const worker = new Worker(new URL("cluster-scale-nodes.ts", import.meta.url), { workerData: plan });
    scope.defer(async () => void (await worker.terminate()));
    worker.on("error", (error) => allJoined.reject(error));
    worker.on("message", (message: ScaleMessage) => {
      if (message.kind === "taken") taken.push(message.at);
      if (message.kind === "joined") count += 1;
      if (count === nodes) allJoined.resolve();
    });
    return worker;
  });
  await allJoined.promise;
  say(`${nodes} nodes with ${sessions} sessions each joined in ${ms(performance.now() - began)}`);
  for (const worker of workers) worker.postMessage("start");

  await delay(steadyMs);
  const steady = await report(workers);
  const { rows } = await client.query<{ used: string }>(
    "SELECT count(*) AS used FROM pg_stat_activity WHERE application_name LIKE 'aegis %'",
  );
  say(`connections: ${rows[0]?.used}`);
  show(say, "steady", steady, steadyMs);

  const [killed] = workers;
  const dead = names.filter((_, index) => index % threads === 0).length;
  const killedAt = Date.now();
  await killed?.terminate();
  while (taken.length < dead) await delay(50);
  say(
    `${dead} nodes killed at once: taken over between ${ms((taken[0] ?? 0) - killedAt)} and ${ms((taken.at(-1) ?? 0) - killedAt)} later (lease ${ms(leaseMs)})`,
  );
  const after = await report(workers.slice(1));
  show(say, "meanwhile", after, Date.now() - killedAt);
  say(`take-overs tried: ${after.tried} for ${dead} nodes`);
}

async function report(workers: readonly Worker[]): Promise<Report> {
  const reports = await Promise.all(
    workers.map(async (worker) => {
      worker.postMessage("report");
      while (true) {
        const [message] = (await once(worker, "message")) as [ScaleMessage];
        if (message.kind === "report") return message;
      }
    }),
  );
  const sum = (of: (one: Report) => number) => reports.reduce((total, one) => total + of(one), 0);
  return {
    kind: "report",
    waits: reports.flatMap(({ waits }) => waits),
    lags: reports.flatMap(({ lags }) => lags),
    failures: sum(({ failures }) => failures),
    tried: sum(({ tried }) => tried),
  };
}

function show(say: (line: string) => void, phase: string, { waits, lags, failures }: Report, forMs: number): void {
  const spread = (values: number[]) =>
    values.length === 0 ? "none" : [50, 95, 99].map((at) => `p${at} ${ms(percentile(values, at))}`).join(", ");
  say(
    `${phase}: ${Math.round((waits.length * 1000) / forMs)} units/s, ${failures} failed; a unit takes ${spread(waits)}`,
  );
  say(`${phase}: from the unit to the feed of another node ${spread(lags)} (${lags.length} deliveries)`);
}

function ms(value: number): string {
  return value >= 1_000 ? `${(value / 1_000).toFixed(1)} s` : `${Math.round(value)} ms`;
}

await main();
