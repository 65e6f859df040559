/** W1: steps that do nothing, so that what is measured is how an engine remembers them. */
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "../../src/contract/ids.ts";
import { median, percentile } from "../measure.ts";
import type { Arena } from "./main.ts";
import { type PeerName, stepsPerRun } from "./peer.ts";
import { Subject } from "./subjects.ts";
import { table } from "./table.ts";

type Sample = { stepsPerSecond: number; p50: number; p99: number; rssMb: number; diskKb: number; floor: number };

export async function speed({ peers, quick, url, folder, say }: Arena): Promise<void> {
  const runs = quick ? 10 : 100;
  const rounds = quick ? 1 : 3;
  const syncs = new Map<PeerName, string>();
  for (const ways of [1, 10]) {
    const samples = new Map<PeerName, Sample[]>(peers.map((peer) => [peer, []]));
    // Round by round, and in another order each time: a machine that slows down slows all of them.
    for (let round = 0; round < rounds; round++) {
      for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
        const dir = await folder(peer, `speed-${ways}-${round}`);
        const subject = new Subject(peer, dir, url);
        const ids = Array.from({ length: runs }, () => newId("run", Date.now()));
        syncs.set(peer, (await subject.heard("open")).syncs);
        const { ms, latencies, rssMb } = await subject.obey({ do: "speed", ids, ways });
        await subject.kill();
        const diskKb = (await sizeOf(dir)) / 1024;
        samples.get(peer)?.push({
          stepsPerSecond: (runs * stepsPerRun * 1000) / ms,
          p50: percentile(latencies, 50) / stepsPerRun,
          p99: percentile(latencies, 99) / stepsPerRun,
          rssMb,
          diskKb,
          floor: await syncedWrites(dir, quick ? 200 : 1_000),
        });
      }
    }
    const rows = [...samples].map(([peer, taken]) => {
      const middle = (key: keyof Sample) => median(taken.map((sample) => sample[key]));
      return [
        peer,
        middle("stepsPerSecond").toFixed(0),
        `${middle("p50").toFixed(2)} ms`,
        `${middle("p99").toFixed(2)} ms`,
        `${middle("rssMb").toFixed(0)} MB`,
        middle("diskKb") === 0 ? "in PostgreSQL" : `${middle("diskKb").toFixed(0)} kB`,
        `${((100 * middle("stepsPerSecond")) / middle("floor")).toFixed(0)} %`,
        syncs.get(peer) ?? "",
      ];
    });
    say(`\nW1, ${runs} runs of ${stepsPerRun} steps, ${ways === 1 ? "one after the other" : `${ways} at a time`}`);
    say(table(["engine", "steps/s", "p50 a step", "p99 a step", "RSS", "on disk", "of bare fsyncs", "syncs"], rows));
  }
}

/** How often a second this disk writes a small record and syncs it: no engine that syncs each step alone can do more. */
async function syncedWrites(dir: string, count: number): Promise<number> {
  const path = join(dir, "floor");
  const file = await open(path, "w");
  try {
    const record = Buffer.alloc(256, 1);
    const begin = performance.now();
    for (let index = 0; index < count; index++) {
      await file.write(record);
      await file.datasync();
    }
    return (count * 1000) / (performance.now() - begin);
  } finally {
    await file.close();
    await rm(path);
  }
}

async function sizeOf(dir: string): Promise<number> {
  const names = await readdir(dir);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(dir, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
