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
  const times = new Map(all.map((loader) => [loader, [] as number[]]));
  const loaded = new Map<Loader, number>();
  for (let round = 0; round <= rounds; round++) {
    const workspace = join(folder, `round-${round}`);
    await cp(join(folder, "original"), workspace, { recursive: true });
    for (const loader of round % 2 === 0 ? all : all.toReversed()) {
      let found = 0;
      const ms = await elapsed(async () => {
        found = (await loader.load(workspace)).filter((one) => one.folder.startsWith(workspace)).length;
      });
      loaded.set(loader, found);
      // The first round warms up.
      if (round > 0) times.get(loader)?.push(ms);
    }
    await rm(workspace, { recursive: true });
  }
  const own = median(times.get(all[0] as Loader) ?? []);
  say(`first load of ${count} skills`);
  for (const loader of all) {
    const ms = median(times.get(loader) ?? []);
    say(
      `  ${loader.name.padEnd(20)} ${ms.toFixed(0).padStart(6)} ms  ${(ms / own).toFixed(1)}x  ${loaded.get(loader)} loaded`,
    );
  }
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
