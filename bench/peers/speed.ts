/** W1: steps that do nothing, so that what is measured is how an engine remembers them. */
import { join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import { openBareStore } from "../bare/store.ts";
import { compareRounds, median, percentile, rate } from "../measure.ts";
import type { Arena } from "./arena.ts";
import { type PeerName, stepsPerRun, syncsLazily } from "./peer.ts";
import { table } from "./table.ts";

type Entrant = { name: string; peer: PeerName; syncAll: boolean };
type Sample = { stepsPerSecond: number; p50: number; p99: number; rssMb: number; diskKb: number; bare: number };

const columns = ["engine", "steps/s", "of bare inserts", "p50 a step", "p99 a step", "RSS", "on disk", "synced"];
const bareInserts = "bare inserts";

export async function speed(arena: Arena): Promise<void> {
  const { quick, say, progress } = arena;
  const runs = quick ? 10 : 100;
  const rounds = quick ? 1 : 3;
  const entrants = arena.peers.flatMap(entries);
  for (const ways of [1, 10]) {
    const samples = new Map<Entrant, Sample[]>(entrants.map((entrant) => [entrant, []]));
    const syncs = new Map<Entrant, string>();
    // Round by round, and in another order each time: a machine that slows down slows all of them.
    for (let round = 0; round < rounds; round++) {
      progress(`speed, ${ways} at a time: round ${round + 1} of ${rounds}`);
      for (const entrant of round % 2 === 0 ? entrants : entrants.toReversed()) {
        const dir = await arena.folder(entrant.peer, `speed-${ways}-${round}-${entrant.syncAll}`);
        const taken = await sample(arena, entrant, dir, { runs, ways });
        samples.get(entrant)?.push(taken.sample);
        syncs.set(entrant, taken.syncs);
      }
    }
    const rows = [...samples].map(([entrant, taken]) => row(entrant.name, taken, syncs.get(entrant) ?? ""));
    const bare = median([...samples.values()].flat().map((taken) => taken.bare));
    rows.push([bareInserts, bare.toFixed(0), "1.00x", "", "", "", "", "each: one row, one table, no engine"]);
    const how = ways === 1 ? "one after the other" : `${ways} at a time`;
    say(table(`W1, ${runs} runs of ${stepsPerRun} steps, ${how}`, columns, rows));
  }
}

/** An engine as it comes and, if it then syncs only now and then, once more with each commit synced. */
function entries(peer: PeerName): Entrant[] {
  const asItComes = { name: peer, peer, syncAll: false };
  return syncsLazily.has(peer) ? [asItComes, { name: `${peer}, synced`, peer, syncAll: true }] : [asItComes];
}

async function sample(
  arena: Arena,
  { peer, syncAll }: Entrant,
  dir: string,
  { runs, ways }: { runs: number; ways: number },
): Promise<{ sample: Sample; syncs: string }> {
  const bytesBefore = await arena.bytesOf(peer, dir);
  const subject = arena.start(peer, dir, { syncAll });
  const ids = Array.from({ length: runs }, () => newId("run", Date.now()));
  const { syncs } = await subject.heard("open");
  const { ms, latencies, rssMb } = await subject.obey({ do: "speed", ids, ways });
  await subject.kill();
  const sample = {
    stepsPerSecond: (runs * stepsPerRun * 1000) / ms,
    p50: percentile(latencies, 50) / stepsPerRun,
    p99: percentile(latencies, 99) / stepsPerRun,
    rssMb,
    diskKb: ((await arena.bytesOf(peer, dir)) - bytesBefore) / 1024,
    bare: await bareRate(dir, arena.quick ? 200 : 1_000),
  };
  return { sample, syncs };
}

/** How many rows a second the same disk takes at that moment, each synced: the floor of whoever syncs each step alone. */
async function bareRate(dir: string, count: number): Promise<number> {
  using bare = openBareStore(join(dir, "bare.db"));
  return await rate(count, () => bare.insertMany("x".repeat(256), count));
}

function row(name: string, samples: readonly Sample[], syncs: string): string[] {
  const middle = (key: keyof Sample) => median(samples.map((sample) => sample[key]));
  const { ours, ratio } = compareRounds(
    samples.map((sample) => sample.stepsPerSecond),
    samples.map((sample) => sample.bare),
  );
  return [
    name,
    ours.toFixed(0),
    `${ratio.toFixed(2)}x`,
    `${middle("p50").toFixed(2)} ms`,
    `${middle("p99").toFixed(2)} ms`,
    `${middle("rssMb").toFixed(0)} MB`,
    `${middle("diskKb").toFixed(0)} kB`,
    syncs,
  ];
}
