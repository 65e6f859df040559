/**
 * Light nodes of one thread: each has a real store with its lease, its feed and its sessions, and nothing above that.
 * A node admits one message to one of its sessions at a time, and takes over nodes whose lease has ended.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { newId } from "@aegis/contract/ids.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import { openPostgresStore } from "@aegis/store-postgres/store.ts";
import { message, sessionRow } from "../test/helpers/rows.ts";
import { admittedBody } from "./cluster-nodes.ts";
import type { ScaleMessage, ScalePlan } from "./cluster-scale.ts";

const { url, schema, names, sessions, leaseMs, everyMs } = workerData as ScalePlan;
const send = (text: ScaleMessage) => parentPort?.postMessage(text);
const waits: number[] = [];
const lags: number[] = [];
let failures = 0;
let tried = 0;
let isWorking = false;

async function open(name: string): Promise<Store> {
  const node = { name, holder: name, leaseMs, version: "bench", labels: [], maxSessions: null };
  const store = await openPostgresStore({ url, schema, node, log: silentLogger });
  store.onCommit((events) => lags.push(...events.map(({ at }) => Date.now() - at)), ["message.admitted"], "others");
  return store;
}

async function work(store: Store, name: string): Promise<void> {
  const own = Array.from({ length: sessions }, () => sessionRow({ node: name }));
  await store.transact(async (tx) => {
    for (const row of own) await tx.sessions.insert(row);
  });
  const renewing = setInterval(() => void store.membership?.renew().catch(() => {}), leaseMs / 3);
  renewing.unref();
  send({ kind: "joined" });
  // Nodes do not work in step.
  await delay(Math.random() * everyMs);
  for (let turn = 0; ; turn += 1) {
    const from = performance.now();
    const session = own[turn % own.length]?.id ?? newId("ses", 1);
    const row = message(session, { id: newId("msg", Date.now()), body: admittedBody });
    if (isWorking) {
      await store
        .transact(async (tx) => {
          await Promise.all([tx.sessions.get(session), tx.messages.get(row.id)]);
          await tx.messages.insert(row);
          await tx.events.append({ type: "message.admitted", session, data: { message: row } }, Date.now());
        })
        .then(
          () => waits.push(performance.now() - from),
          () => {
            failures += 1;
          },
        );
      await takeOver(store, name);
    }
    await delay(Math.max(0, everyMs - (performance.now() - from)));
  }
}

/** What the daemon does at the lease's pace, without what it does with processes. */
async function takeOver(store: Store, name: string): Promise<void> {
  const lost = (await store.read.nodes.list()).filter(({ alive, lease_ms }) => alive && lease_ms < 0);
  for (const node of lost) {
    tried += 1;
    const isMine = await store
      .transact(async (tx) => {
        if (!(await tx.nodes.declareLost(node.name, node.incarnation))) return false;
        const open = (await tx.sessions.list({ closed: false })).filter((row) => row.node === node.name);
        for (const { id } of open) await tx.sessions.update(id, { node: name });
        await tx.nodes.moveWork(node.name, name);
        return true;
      })
      .catch(() => false);
    if (isMine) send({ kind: "taken", at: Date.now() });
  }
}

parentPort?.on("message", (request: "start" | "report") => {
  isWorking = true;
  if (request === "report") send({ kind: "report", waits: waits.splice(0), lags: lags.splice(0), failures, tried });
});

const stores = await Promise.all(names.map(async (name) => [await open(name), name] as const));
for (const [store, name] of stores) void work(store, name);
