/** A take-over runs the steps that the parts name, in their order, whatever the parts are. */
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import { expect, it, onTestFinished } from "vitest";
import { waitUntil } from "../../../../test/helpers/wait-until.ts";
import type { RecoveringPart } from "../src/recovery.ts";
import { TakeOver } from "../src/take-over.ts";

const leaseMs = 30;

/** A cluster of this node and a lost one, which owned nothing but what the parts say. */
function clusterWith(record: string[]): Store {
  const row = { incarnation: 1, alive: true, lease_ms: 10, now: 0, lost_at: null, draining: false, config_hash: null };
  const here = { ...row, name: "here", joined_at: 1 };
  const lost = { ...row, name: "lost", joined_at: 2, lease_ms: -1 };
  const tx = {
    nodes: {
      get: async () => lost,
      declareLost: async () => lost.alive,
      moveWork: async () => {},
      freeRuns: async () => {},
    },
    sessions: { list: async () => [] },
    events: { append: async ({ type }: { type: string }) => record.push(type) },
  } as unknown as StoreTx;
  return {
    read: { nodes: { list: async () => [here, lost] }, sessions: tx.sessions },
    async transact<T>(work: (tx: StoreTx) => Promise<T>) {
      const done = await work(tx);
      lost.alive = false;
      record.push("commit");
      return done;
    },
  } as unknown as Store;
}

function startTakeOver(record: string[], parts: readonly RecoveringPart[]): void {
  const takeOver = new TakeOver({
    store: clusterWith(record),
    clock: systemClock,
    log: silentLogger,
    resumesAnywhere: () => true,
    conversations: { close: async () => {} },
    inbox: { admitIn: () => Promise.reject(new Error("nobody is told")) },
    schedules: { isHeld: true, settingsChanged: async () => {} },
    sessions: { wakeAll: async () => {} },
    parts,
    lease: { steadyMs: 10 * leaseMs },
    node: "here",
    leaseMs,
    giveUpMs: 60_000,
  });
  takeOver.start();
  onTestFinished(() => takeOver.stop());
}

it("settles every part in the transaction that ends the membership, and then continues them in their order", async () => {
  const record: string[] = [];
  const part = (name: string): RecoveringPart => ({
    recovery: {
      async recoverIn(_tx, node) {
        record.push(`${name} of ${node}`);
        return () => record.push(`${name} is settled`);
      },
      resume: () => record.push(`${name} continues`),
    },
  });
  startTakeOver(record, [part("a"), { recovery: null }, part("b")]);
  await waitUntil("the last part continues", () => record.includes("b continues"));
  expect(record).toEqual([
    ...["a of lost", "b of lost", "node.lost", "commit"],
    ...["a is settled", "b is settled", "a continues", "b continues"],
  ]);
});

it("repeats a step that failed until it works, and no other", async () => {
  const record: string[] = [];
  let failures = 2;
  const broken = () => {
    record.push("tries");
    if (failures-- > 0) throw new Error("the database does not answer");
  };
  const works = { recovery: { resume: () => record.push("continues") } };
  startTakeOver(record, [{ recovery: { resume: broken } }, works]);
  await waitUntil("the step works", () => record.filter((one) => one === "tries").length === 3);
  expect(record.filter((one) => one === "continues")).toHaveLength(1);
});
