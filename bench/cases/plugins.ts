/** Plugins: what one with code costs beyond a bare worker, what a call of its tool costs, and how they hold up a start. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import { apiEntries } from "@aegis/plugins/host/entries.ts";
import { defaultWorkerLimits, PluginWorker } from "@aegis/plugins/host/worker.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { type BenchDaemon, startDaemon } from "../daemon.ts";
import { compareRounds, compareValues, elapsed, type Figure, figure, interleave } from "../measure.ts";
import { readMemory } from "../process-use.ts";

const bareWorker = new URL("../bare/worker.mjs", import.meta.url);
const bareMemoryEntry = new URL("../bare/worker-memory.ts", import.meta.url);
const counts = [10, 50] as const;
const callsPerRound = 500;

/** In JavaScript, so that no figure holds what stripping types costs once. */
const moduleText = (index: number) =>
  'import { hook, tool } from "aegis";\n' +
  `export const tool_${index} = tool({ description: "answers" }, () => "ok");\n` +
  'export const seen = hook("post_turn", () => {});\n';

export const plugins: Bench = {
  name: "plugins",
  about: "a plugin's worker against a bare one, calls of its tools, starts with 0, 10 and 50 of them, and reloading",
  async run(context) {
    const { quick, signal } = context;
    const rounds = quick ? 2 : 7;
    const path = join(context.folder, "one.js");
    await writeFile(path, moduleText(0));
    const started = await interleave(
      { ours: () => startPlugin(context, path), base: () => startBare() },
      rounds,
      signal,
    );
    return [
      figure(
        { name: "starting a plugin's worker", unit: "ms", against: "a bare worker" },
        compareRounds(started.ours, started.base),
      ),
      await callingTools(context, path, rounds),
      ...(await inDaemons(context)),
    ];
  },
};

async function openPlugin(context: BenchContext, path: string): Promise<PluginWorker> {
  const { folder } = context;
  const place = { root: folder, projectRoot: folder, dataDir: folder, cacheDir: join(folder, "cache") };
  const { worker } = await PluginWorker.start({
    start: { plugin: "one", modules: [path], config: {}, api: apiEntries(), ...place },
    env: {},
    limits: defaultWorkerLimits,
    log: () => {},
    consent: async () => ownConsent("validate"),
    mark: () => ({ env: {}, end: async () => {} }),
  });
  return worker;
}

async function startPlugin(context: BenchContext, path: string): Promise<number> {
  const begun = performance.now();
  const worker = await openPlugin(context, path);
  const took = performance.now() - begun;
  await worker.terminate("measured");
  return took;
}

async function openBare(): Promise<Worker> {
  const worker = new Worker(bareWorker);
  await once(worker, "message");
  return worker;
}

async function startBare(): Promise<number> {
  const begun = performance.now();
  const worker = await openBare();
  const took = performance.now() - begun;
  await worker.terminate();
  return took;
}

async function callingTools(context: BenchContext, path: string, rounds: number): Promise<Figure> {
  const plugin = await openPlugin(context, path);
  const bare = await openBare();
  const caller = { session: { id: "ses_1", handle: "lucid-knuth" }, agent: "dev" };
  const each = async (call: () => Promise<unknown>) => {
    const ms = await elapsed(async () => {
      for (let made = 0; made < callsPerRound; made++) await call();
    });
    return (ms / callsPerRound) * 1000;
  };
  try {
    const measured = await interleave(
      {
        ours: () =>
          each(() =>
            plugin.call(
              { kind: "tool", index: 0, input: {}, key: "k", caller },
              { timeoutMs: 30_000, what: "the tool" },
            ),
          ),
        base: () =>
          each(() => {
            bare.postMessage("x");
            return once(bare, "message");
          }),
      },
      rounds,
      context.signal,
    );
    const input = { name: "calling a plugin's tool", unit: "µs", against: "a message there and back" } as const;
    return figure(input, compareRounds(measured.ours, measured.base));
  } finally {
    await plugin.terminate("measured");
    await bare.terminate();
  }
}

/** The start of daemons with more and more plugins, and the time to reload one. */
async function inDaemons(context: BenchContext): Promise<Figure[]> {
  const figures: Figure[] = [];
  const none = await timedStart(context, 0);
  const before = (await readMemory(none.daemon.file.pid)).rssMb;
  const bareMb = await bareMemory();
  for (const count of context.quick ? [counts[0]] : counts) {
    const { daemon, ms } = await timedStart(context, count);
    const loading = performance.now();
    await daemon.client.call("listPlugins");
    const loadedMs = ms + performance.now() - loading;
    const { rssMb } = await readMemory(daemon.file.pid);
    const start = { name: `starting with ${count} plugins`, unit: "ms", against: "starting with none" } as const;
    figures.push(figure(start, compareValues(ms, none.ms)));
    const loaded = { ...start, name: `until ${count} plugins are loaded` };
    figures.push(figure(loaded, compareValues(loadedMs, none.ms)));
    const memory = { name: `memory per plugin of ${count}`, unit: "MB", against: "a bare worker" } as const;
    figures.push(figure(memory, compareValues((rssMb - before) / count, bareMb), { ratioAtMost: 1.25 }));
    if (count === counts[0]) figures.push(await reloading(context, daemon));
  }
  return figures;
}

async function timedStart(context: BenchContext, count: number): Promise<{ daemon: BenchDaemon; ms: number }> {
  const files = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`.aegis/plugins/plugin-${index}.js`, moduleText(index)]),
  );
  const begun = performance.now();
  const daemon = await startDaemon(context, `with-${count}`, files);
  return { daemon, ms: performance.now() - begun };
}

async function reloading(context: BenchContext, { client }: BenchDaemon): Promise<Figure> {
  const measured = await interleave(
    {
      ours: () => elapsed(() => client.call("reloadPlugins", { body: { plugin: "plugin-0" } })),
      base: () => startBare(),
    },
    context.quick ? 2 : 7,
    context.signal,
  );
  const input = { name: "reloading one of 10", unit: "ms", against: "starting a bare worker" } as const;
  return figure(input, compareRounds(measured.ours, measured.base));
}

async function bareMemory(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(bareMemoryEntry)]);
  return Number(stdout);
}
