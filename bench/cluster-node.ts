/** One node of a cluster for the benchmarks: a thread with its own connections, as another machine would have them. */
import { parentPort, workerData } from "node:worker_threads";
import { newId } from "@aegis/contract/ids.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { openPostgresStore } from "@aegis/store-postgres/store.ts";
import { message, sessionRow } from "../test/helpers/rows.ts";
import { admittedBody, type NodePlan, type NodeRequest, nowMs } from "./cluster-nodes.ts";

const { url, schema, name } = workerData as NodePlan;
const node = { name, holder: name, leaseMs: 3_600_000, version: "bench", labels: [], maxSessions: null };
const store = await openPostgresStore({ url, schema, node, log: silentLogger });
const session = sessionRow({ node: name });
await store.transact((tx) => tx.sessions.insert(session));
/** When this node saw each event of other nodes, by number. */
const seen: [seq: number, at: number][] = [];
store.onCommit(
  (events) => seen.push(...events.map(({ seq }): [number, number] => [seq, nowMs()])),
  undefined,
  "others",
);

async function admit(): Promise<number> {
  const row = message(session.id, { id: newId("msg", Date.now()), body: admittedBody });
  return store.transact(async (tx) => {
    const [known] = await Promise.all([tx.sessions.get(session.id), tx.messages.get(row.id)]);
    if (known === null) throw new Error("the session is gone");
    await tx.messages.insert(row);
    const data = { message: row };
    return (await tx.events.append({ type: "message.admitted", session: session.id, data }, Date.now())).seq;
  });
}

async function answer(request: NodeRequest): Promise<unknown> {
  switch (request.do) {
    case "admit": {
      const { writers, each } = request;
      const lane = async () => {
        for (let n = 0; n < each; n += 1) await admit();
      };
      await Promise.all(Array.from({ length: writers }, lane));
      return null;
    }
    case "commits": {
      const commits: [seq: number, at: number][] = [];
      for (let n = 0; n < request.count; n += 1) commits.push([await admit(), nowMs()]);
      return commits;
    }
    case "seen":
      return seen.splice(0);
    case "close":
      await store.close();
      return null;
  }
}

parentPort?.on("message", ({ id, request }: { id: number; request: NodeRequest }) => {
  answer(request).then(
    (value) => parentPort?.postMessage({ id, value }),
    (error: unknown) => parentPort?.postMessage({ id, error: String(error) }),
  );
});
parentPort?.postMessage({ id: 0, value: null });
