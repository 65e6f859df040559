/**
 * Loads the same skills with Aegis, OpenClaw and the format's reference library, in turns in one run.
 *
 *   npm --prefix bench/skills-peers ci --ignore-scripts && node bench/skills-peers/main.ts [--count N] [--rounds N]
 */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { elapsed, median } from "../measure.ts";
import { writeSkills } from "../skill-tree.ts";
import { type Loader, loaders } from "./loaders.ts";
import { writeMess } from "./mess.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "1000" }, rounds: { type: "string", default: "5" } },
});
const folder = await mkdtemp(join(tmpdir(), "aegis-bench-skills-"));
try {
  const all = await loaders();
  await compareSpeed(all, Number(values.count), Number(values.rounds));
  await compareReading(all);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** A copy for every round, because some keep what they have read of a folder. */
async function compareSpeed(all: readonly Loader[], count: number, rounds: number): Promise<void> {
  await writeSkills(join(folder, "original", "skills"), count);
  const loads = new Map(all.map((loader) => [loader, [] as Load[]]));
  for (let round = 0; round <= rounds; round++) {
    const workspace = join(folder, `round-${round}`);
    await cp(join(folder, "original"), workspace, { recursive: true });
    for (const loader of round % 2 === 0 ? all : all.toReversed()) {
      const load = await timed(loader, workspace);
      // The first round warms up.
      if (round > 0) loads.get(loader)?.push(load);
    }
    await rm(workspace, { recursive: true });
  }
  say(`first load of ${count} skills`);
  const rows = all.map((loader) => ({ loader, ...medians(loads.get(loader) ?? []) }));
  for (const { loader, ms, cpu, found } of rows) {
    const ratio = `${(cpu / (rows[0]?.cpu ?? 1)).toFixed(1)}x`;
    const times = `${ms.toFixed(0).padStart(6)} ms ${cpu.toFixed(0).padStart(6)} ms of processor ${ratio.padStart(6)}`;
    say(`  ${loader.name.padEnd(20)} ${times}  ${found} loaded`);
  }
}

/** On a busy machine the time of the processor says more than that of the clock. */
type Load = { ms: number; cpu: number; found: number };

async function timed(loader: Loader, workspace: string): Promise<Load> {
  let found = 0;
  const before = process.cpuUsage();
  const ms = await elapsed(async () => {
    found = (await loader.load(workspace)).filter((one) => one.folder.startsWith(workspace)).length;
  });
  const { user, system } = process.cpuUsage(before);
  return { ms, cpu: (user + system) / 1000, found };
}

function medians(loads: readonly Load[]): Load {
  const of = (key: keyof Load) => median(loads.map((load) => load[key]));
  return { ms: of("ms"), cpu: of("cpu"), found: of("found") };
}

async function compareReading(all: readonly Loader[]): Promise<void> {
  const workspace = join(folder, "mess");
  const messy = await writeMess(join(workspace, "skills"));
  say(`\nreading ${messy.length} headers with slips as they were meant`);
  for (const loader of all) {
    const found = new Map((await loader.load(workspace)).map((one) => [basename(one.folder), one.description.trim()]));
    const wrong = messy.filter(({ file, description }) => !found.get(basename(dirname(file)))?.startsWith(description));
    const rest = wrong.length === 0 ? "" : `, not: ${wrong.map(({ kind }) => kind).join(", ")}`;
    say(`  ${loader.name.padEnd(20)} ${messy.length - wrong.length} of ${messy.length}${rest}`);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
