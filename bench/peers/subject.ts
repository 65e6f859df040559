/** One engine in a process of its own, so that it can be killed and its memory measured. Orders come over IPC. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { newId } from "@aegis/contract/ids.ts";
import { type OpenPeer, type Order, type Peer, type Report, type Setup, stepsPerRun } from "./peer.ts";

const { peer: name, dir, url, syncAll, stepMs } = JSON.parse(process.argv[2] ?? "") as Setup;
let isCounted = true;

const begun = performance.now();
const { open } = (await import(`./engines/${name}.ts`)) as { open: OpenPeer };
const peer = await open({
  dir,
  url,
  steps: stepsPerRun,
  syncAll,
  async effect(run, step) {
    if (!isCounted) return;
    // From the start: some engines take up what a kill cut before anybody asks.
    if (stepMs > 0) await delay(stepMs);
    // Appended by one call, so that a kill leaves whole lines.
    appendFileSync(join(dir, "effects"), `${run} ${step}\n`);
  },
});
tell({ told: "open", syncs: peer.syncs, openMs: performance.now() - begun });
// Nobody is left to measure for.
process.on("disconnect", () => process.exit());
process.on("message", (order: Order) => {
  obey(peer, order).catch((error: unknown) => {
    tell({ told: "failed", error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
});

async function obey(engine: Peer, order: Order): Promise<void> {
  const started = performance.now();
  const latencies: number[] = [];
  const timed = async (work: () => Promise<void>) => {
    const begin = performance.now();
    await work();
    latencies.push(performance.now() - begin);
  };
  switch (order.do) {
    case "speed":
      // No effect: only the engine's own work is measured.
      isCounted = false;
      await inParallel(order.ids, order.ways, (id) => timed(() => engine.run(id)));
      break;
    case "crash":
      await Promise.all(order.unfinished.map((id) => engine.finish(id).then(() => tell({ told: "ended", run: id }))));
      if (order.unfinished.length > 0) tell({ told: "resumed", ms: performance.now() - begun });
      while (true) {
        const run = newId("run", Date.now());
        tell({ told: "begun", run });
        await engine.finish(run);
        tell({ told: "ended", run });
      }
    case "finish":
      await Promise.all(order.ids.map((id) => timed(() => engine.finish(id))));
      break;
    case "park":
      await inParallel(order.ids, 20, (id) => timed(() => engine.park(id)));
      break;
    case "answer":
      await inParallel(order.ids, 20, (id) => timed(() => engine.answer(id)));
      break;
  }
  const rssMb = process.memoryUsage.rss() / 1024 / 1024;
  tell({ told: "done", latencies, ms: performance.now() - started, rssMb });
}

async function inParallel(ids: readonly string[], ways: number, work: (id: string) => Promise<void>): Promise<void> {
  const waiting = ids.values();
  await Promise.all(
    Array.from({ length: ways }, async () => {
      for (const id of waiting) await work(id);
    }),
  );
}

function tell(report: Report): void {
  process.send?.(report);
}
