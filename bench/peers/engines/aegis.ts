/** The engine that comes with Aegis: one SQLite file, every commit synced. */
import { join } from "node:path";
import type { RunId } from "../../../src/contract/ids.ts";
import { EmbeddedEngine } from "../../../src/engine/embedded/engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import type { OpenPeer } from "../peer.ts";

export const open: OpenPeer = async ({ dir, steps, effect }) => {
  const store = await openSqliteStore({ path: join(dir, "aegis.db"), clock: systemClock, log: silentLogger });
  const waiting = new Map<string, () => void>();
  const hooks = { onEnd: async () => "none" as const, afterEnd: async () => {} };
  const engine = new EmbeddedEngine({ store, clock: systemClock, log: silentLogger, hooks, exclusive: true });
  engine.define({
    name: "steps",
    code: "1",
    body: async (context) => {
      for (let step = 0; step < steps; step++) {
        const spec = { method: "step", args: [step], label: `step ${step}` };
        await context.step(spec, { perform: async () => effect(context.run.id, step) });
      }
    },
  });
  engine.define({
    name: "ask",
    code: "1",
    body: async (context) => {
      const spec = (step: number) => ({ method: "step", args: [step], label: `step ${step}` });
      await context.step(spec(0), { perform: async () => effect(context.run.id, 0) });
      waiting.get(context.run.id)?.();
      await context.receive("answer");
      await context.step(spec(1), { perform: async () => effect(context.run.id, 1) });
    },
  });
  await engine.launch();
  const ended = async (id: string) => {
    const run = await engine.settled(id as RunId);
    if (run.status !== "ok") throw new Error(`${id} ended as ${run.status}: ${run.error ?? ""}`);
  };
  const finish = async (id: string) => {
    await engine.start({ id: id as RunId, workflow: "steps", args: {} });
    await ended(id);
  };
  return {
    syncs: "each commit (WAL, synchronous=FULL, group commit)",
    run: finish,
    finish,
    async park(id) {
      const waits = new Promise<void>((resolve) => waiting.set(id, resolve));
      await engine.start({ id: id as RunId, workflow: "ask", args: {} });
      await waits;
    },
    async answer(id) {
      await engine.signal(id as RunId, "answer", "yes", "the answer");
      await ended(id);
    },
    async close() {
      await engine.stop();
      await store.close();
    },
  };
};
