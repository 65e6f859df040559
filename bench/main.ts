/**
 * Measures what Aegis costs, as ratios of things measured in turns in one run.
 *
 *   npm run bench -- [--quick] [--only <name>]… [--json] [--dist <folder>]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildIfStale } from "../scripts/build-if-stale.ts";
import type { Bench } from "./bench.ts";
import { admits } from "./cases/admits.ts";
import { agents } from "./cases/agents.ts";
import { cli } from "./cases/cli.ts";
import { cluster } from "./cases/cluster.ts";
import { copies } from "./cases/copies.ts";
import { fanOut } from "./cases/fan-out.ts";
import { hooks } from "./cases/hooks.ts";
import { idle } from "./cases/idle.ts";
import { latency } from "./cases/latency.ts";
import { native } from "./cases/native.ts";
import { plane } from "./cases/plane.ts";
import { plugins } from "./cases/plugins.ts";
import { skillScan } from "./cases/skill-scan.ts";
import { skills } from "./cases/skills.ts";
import { subagents } from "./cases/subagents.ts";
import { tasks } from "./cases/tasks.ts";
import { tui } from "./cases/tui.ts";
import { turns } from "./cases/turns.ts";
import { web } from "./cases/web.ts";
import type { Figure } from "./measure.ts";
import { table } from "./report.ts";

const benches: readonly Bench[] = [
  admits,
  latency,
  idle,
  fanOut,
  cli,
  turns,
  native,
  plane,
  tasks,
  agents,
  skillScan,
  subagents,
  hooks,
  plugins,
  skills,
  tui,
  web,
  copies,
  cluster,
];
/** As a shell reports a program that SIGINT ended. */
const stoppedCode = 130;
const root = fileURLToPath(new URL("..", import.meta.url));

type Options = { benches: readonly Bench[]; quick: boolean; json: boolean; dist: string | null };

async function main(): Promise<number> {
  const options = readOptions();
  const stop = new AbortController();
  // More than once: `npm run` passes a signal on that the terminal has sent as well.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  try {
    await run(options, stop.signal);
    return 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    say("\nstopped");
    return stoppedCode;
  }
}

async function run(options: Options, signal: AbortSignal): Promise<void> {
  const dist = options.dist ?? build();
  const figures: Figure[] = [];
  for (const bench of options.benches) {
    if (!options.json) say(`\n${bench.name}: ${bench.about}`);
    const found = await runOne(bench, { quick: options.quick, dist, signal });
    if (!options.json) say(table(found));
    figures.push(...found);
  }
  if (options.json) say(JSON.stringify({ quick: options.quick, figures }, null, 2));
  else say(`\n${summary(figures)}`);
}

async function runOne(bench: Bench, options: { quick: boolean; dist: string; signal: AbortSignal }): Promise<Figure[]> {
  await using scope = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), `aegis-bench-${bench.name}-`));
  scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const owned = scope.use(new AsyncDisposableStack());
  // The first to go: what still streams would hold up the daemon's end.
  const ending = new AbortController();
  scope.defer(() => ending.abort());
  const signal = AbortSignal.any([options.signal, ending.signal]);
  return await bench.run({ ...options, folder, scope: owned, signal });
}

function build(): string {
  buildIfStale();
  return join(root, "dist");
}

function summary(figures: readonly Figure[]): string {
  const goals = figures.flatMap(({ goal }) => goal ?? []);
  return `${goals.filter((goal) => goal.met).length} of ${goals.length} goals met`;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      dist: { type: "string" },
    },
  });
  const names = values.only ?? benches.map((bench) => bench.name);
  const unknown = names.find((name) => !benches.some((bench) => bench.name === name));
  if (unknown !== undefined) {
    throw new Error(`no benchmark "${unknown}": there are ${benches.map((bench) => bench.name).join(", ")}`);
  }
  return {
    benches: benches.filter((bench) => names.includes(bench.name)),
    quick: values.quick,
    json: values.json,
    dist: values.dist === undefined ? null : resolve(values.dist),
  };
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
