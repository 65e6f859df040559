/** What hooks cost a turn beyond their own time: the way to a plugin's worker and back, and making one outcome of them. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { HookCallResult, HookContexts, HookTurn } from "@aegis/contract/hook.ts";
import { HookBus } from "@aegis/hooks/bus.ts";
import { runBatch } from "@aegis/hooks/hook-batch.ts";
import { type HookRunner, HookTable } from "@aegis/hooks/hook-table.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { createSessions, startDaemon } from "../daemon.ts";
import { answer } from "../hook-worker.ts";
import {
  compareRounds,
  compareValues,
  elapsed,
  type Figure,
  figure,
  interleave,
  median,
  percentile,
} from "../measure.ts";
import { openTalk } from "../talk.ts";

/** Plugins, and hooks of each. */
const shapes = [
  { plugins: 1, hooks: 1 },
  { plugins: 1, hooks: 10 },
  { plugins: 1, hooks: 100 },
  { plugins: 10, hooks: 10 },
] as const;
const goalPerHookMs = 0.3;

export const hooks: Bench = {
  name: "hooks",
  about: "pre_turn hooks that do nothing, in workers of their plugins: what each adds to a turn",
  async run(context) {
    return [...(await overBus(context)), ...(await overTurns(context))];
  },
};

/** The bus alone, with workers that hold nothing but hooks. */
async function overBus({ quick, scope, signal }: BenchContext): Promise<Figure[]> {
  const samples = quick ? 20 : 200;
  const subjects: Record<string, () => Promise<number[]>> = {};
  for (const shape of shapes) {
    const places = Array.from({ length: shape.plugins });
    const there = await Promise.all(places.map(() => startWorker(scope)));
    const measured = (runners: readonly HookRunner[]) => sampler(busOf(runners, shape.hooks), samples, signal);
    subjects[`${nameOf(shape)} there`] = measured(there);
    subjects[`${nameOf(shape)} here`] = measured(places.map(() => (batch, abort) => runBatch(batch, answer, abort)));
  }
  const taken = await interleave(subjects, quick ? 1 : 5, signal);
  return shapes.map((shape) => {
    const each = (where: string) =>
      percentile(taken[`${nameOf(shape)} ${where}`]?.flat() ?? [], 50) / (shape.plugins * shape.hooks);
    const input = { name: `${nameOf(shape)}, p50 of each`, unit: "ms", against: "without a worker" } as const;
    return figure(input, compareValues(each("there"), each("here")), { valueBelow: goalPerHookMs });
  });
}

/** Whole turns of daemons with a plugin of so many hooks, against one without. */
async function overTurns(context: BenchContext): Promise<Figure[]> {
  const { quick, signal } = context;
  const counts = [10, 100];
  const subjects: Record<string, () => Promise<number[]>> = {};
  for (const count of [0, ...counts]) {
    const files =
      count === 0 ? {} : { [`${pluginFolder}/plugin.toml`]: manifest, [`${pluginFolder}/hooks.js`]: source(count) };
    const daemon = await startDaemon(context, `hooks-${count}`, files);
    const [session] = await createSessions(daemon, 1);
    if (session === undefined) throw new Error("the daemon made no session");
    const talk = await openTalk(daemon.client, session, signal);
    subjects[String(count)] = async () => {
      const taken: number[] = [];
      while (taken.length < (quick ? 5 : 30)) taken.push((await talk.exchange("hello")).endMs);
      return taken;
    };
  }
  const taken = await interleave(subjects, quick ? 1 : 6, signal);
  const rounds = (count: number) => (taken[String(count)] ?? []).map((round) => median(round));
  return counts.map((count) => {
    const input = { name: `turn with ${count} hooks, p50`, unit: "ms", against: "a turn without" } as const;
    return figure(input, compareRounds(rounds(count), rounds(0)));
  });
}

const pluginFolder = ".aegis/plugins/many";
const manifest = '[plugin]\nname = "many"\nversion = "1.0.0"\n';

function source(count: number): string {
  const lines = Array.from(
    { length: count },
    (_, index) => `export const hook${index} = hook("pre_turn", () => null);`,
  );
  return ['import { hook } from "aegis";', ...lines, ""].join("\n");
}

function nameOf({ plugins, hooks: count }: (typeof shapes)[number]): string {
  return `${plugins === 1 ? "1 plugin" : `${plugins} plugins`} with ${count === 1 ? "1 hook" : `${count} hooks`}`;
}

function busOf(runners: readonly HookRunner[], count: number): HookBus {
  const table = new HookTable();
  for (const [order, run] of runners.entries()) {
    const declared = Array.from({ length: count }, (_, index) => ({
      event: "pre_turn" as const,
      name: `hook-${index}`,
      priority: 0,
      strict: false,
      timeoutMs: null,
    }));
    table.add({ plugin: `plugin-${order}`, order, hooks: declared, run });
  }
  return new HookBus({ table, clock: systemClock, log: silentLogger, timeoutMs: () => 10_000, record: () => {} });
}

function sampler(bus: HookBus, samples: number, signal: AbortSignal): () => Promise<number[]> {
  return async () => {
    const taken: number[] = [];
    while (taken.length < samples) taken.push(await elapsed(() => bus.run("pre_turn", preTurn, signal)));
    return taken;
  };
}

async function startWorker(scope: AsyncDisposableStack): Promise<HookRunner> {
  const worker = new Worker(new URL("../hook-worker.ts", import.meta.url));
  scope.defer(async () => {
    await worker.terminate();
  });
  await once(worker, "online");
  const waiting = new Map<number, (results: HookCallResult[]) => void>();
  let last = 0;
  worker.on("message", ({ id, results }: { id: number; results: HookCallResult[] }) => {
    waiting.get(id)?.(results);
    waiting.delete(id);
  });
  return (batch) =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      worker.postMessage({ id: last, batch });
    });
}

const history: HookTurn[] = Array.from({ length: 20 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  text: "what was said before, at some length. ".repeat(20),
}));

const preTurn: HookContexts["pre_turn"] = {
  session: { id: "ses_1", handle: "lucid-knuth", agent: "parrot", harness: "scripted", depth: 0 },
  turn: "trn_1",
  turnIndex: 10,
  summedUp: 0,
  userMessage: "what shall we do next?",
  senders: [{ kind: "human" }],
  history,
  skills: [],
  projectRoot: "/project",
  priorResults: [],
};
