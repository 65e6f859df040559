/**
 * What Aegis adds to the real CLIs, with a fake model on loopback: to the first word, to a whole turn, and in memory
 * for each session more. Install the CLIs first: npm ci in test/live.
 *
 *   node bench/live/main.ts [--quick] [--json] [--dist <folder>]
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildIfStale } from "../../scripts/build-if-stale.ts";
import type { LiveHarness } from "../../test/live/support/harness.ts";
import { claudeCode } from "../../test/live/support/harnesses/claude-code.ts";
import { codex } from "../../test/live/support/harnesses/codex.ts";
import { compareValues, type Figure, figure, interleave, median } from "../measure.ts";
import { readMemory } from "../process-use.ts";
import { table } from "../report.ts";
import { bareClaude, bareCodex, type Exchange, type Timing } from "./bare.ts";
import { exchangeWith, newSession, startDaemon } from "./through-aegis.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const subjects = [
  { harness: claudeCode, bare: bareClaude, addedSessions: 3 },
  { harness: codex, bare: bareCodex, addedSessions: 8 },
];

type Subject = (typeof subjects)[number];
type Options = { quick: boolean; dist: string; signal: AbortSignal };

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      dist: { type: "string" },
    },
  });
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  const dist = values.dist === undefined ? build() : resolve(values.dist);
  const figures: Figure[] = [];
  for (const subject of subjects) {
    figures.push(...(await measure(subject, { quick: values.quick, dist, signal: stop.signal })));
  }
  process.stdout.write(`${values.json ? JSON.stringify(figures, null, 2) : table(figures)}\n`);
}

async function measure({ harness, bare, addedSessions }: Subject, options: Options): Promise<Figure[]> {
  await using scope = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "aegis-bench-live-"));
  scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const owned = scope.use(new AsyncDisposableStack());
  const ending = new AbortController();
  scope.defer(() => ending.abort());
  const signal = AbortSignal.any([options.signal, ending.signal]);

  // A model of their own each: a conversation that grows must not slow the other's down.
  const [alone, ours] = [
    await startModel(harness, folder, "alone", owned),
    await startModel(harness, folder, "ours", owned),
  ];
  const daemon = await startDaemon(options.dist, ours.folder, harness, ours.model, owned);
  const exchange = exchangeWith(daemon.client, await newSession(daemon.client), signal);
  const samples = await interleave(
    {
      ours: several(exchange, options.quick),
      bare: several(await bare(alone.model, alone.folder, owned), options.quick),
    },
    options.quick ? 2 : 8,
    signal,
  );
  const compared = (part: keyof Timing) => {
    const at = (name: keyof typeof samples) => median(samples[name].flat().map((timing) => timing[part]));
    return compareValues(at("ours"), at("bare"));
  };
  const against = `bare ${harness.harness}`;

  const before = await readMemory(daemon.pid);
  for (let made = 0; made < addedSessions; made++) {
    await exchangeWith(daemon.client, await newSession(daemon.client), signal)("hello");
  }
  const after = await readMemory(daemon.pid);
  const perSession = (after.rssMb - before.rssMb) / addedSessions;
  const [first, whole] = [compared("firstMs"), compared("endMs")];
  const added = compareValues(first.ours - first.base, first.base);
  const name = (what: string) => `${harness.harness}: ${what}`;
  return [
    figure({ name: name("message to first word"), unit: "ms", against }, first),
    figure({ name: name("message to end of turn"), unit: "ms", against }, whole),
    figure({ name: name("added before the first word"), unit: "ms", against }, added, { valueBelow: 5 }),
    figure(
      { name: name("daemon's memory per session more"), unit: "MB", against: "the daemon with one" },
      compareValues(perSession, before.rssMb),
      { valueBelow: 1 },
    ),
  ];
}

async function startModel(harness: LiveHarness, parent: string, name: string, scope: AsyncDisposableStack) {
  const folder = join(parent, name);
  await mkdir(folder);
  const model = await harness.start(folder);
  scope.defer(() => model.close());
  return { folder, model };
}

function several(exchange: Exchange, quick: boolean): () => Promise<Timing[]> {
  return async () => {
    const timings: Timing[] = [];
    for (let sent = 0; sent < (quick ? 3 : 10); sent++) timings.push(await exchange("hello"));
    return timings;
  };
}

function build(): string {
  buildIfStale();
  return join(root, "dist");
}

await main();
