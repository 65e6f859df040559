/** Durable units on PostgreSQL: an admitted message and its event, against the same statements by hand. */

import { newId } from "@aegis/contract/ids.ts";
import { Client } from "pg";
import { installations, startPostgres } from "../../test/helpers/postgres.ts";
import { message } from "../../test/helpers/rows.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { admittedBody, ClusterNode } from "../cluster-nodes.ts";
import { compareRounds, compareValues, type Figure, figure, interleave, median, rate } from "../measure.ts";

const manyWriters = 32;

export const cluster: Bench = {
  name: "cluster",
  about: "durable admits on PostgreSQL with fsync, each node in its own thread, against the same statements by hand",
  async run({ quick, scope, signal }: BenchContext) {
    const { missing } = installations[18];
    if (missing !== null) throw new Error(`the benchmark starts PostgreSQL itself, which is ${missing}`);
    const server = await startPostgres(installations[18], [], { detached: true });
    scope.defer(() => server.stop());
    const url = server.url("postgres");
    const open = (schema: string, name: string) => ClusterNode.start({ url, schema, name }, scope);
    const first = await open("one_project", "one");
    const nodes = [first, await open("one_project", "two"), await open("one_project", "three")];
    const other = await open("other_project", "one");
    await open("hand", "one");
    const hand = await openHand(url, scope);
    const [alone, each] = quick ? [40, 8] : [200, 40];
    const rounds = await interleave(
      {
        hand: () => rate(alone, () => hand.admitMany(alone)),
        one: () => admit([first], 1, alone),
        many: () => admit([first], manyWriters, each),
        nodes: () => admit(nodes, manyWriters, each),
        projects: () => admit([first, other], manyWriters, each),
      },
      quick ? 3 : 7,
      signal,
    );
    const byHand = "by hand, one connection";
    return [
      figure({ name: "units, 1 writer", unit: "/s", against: byHand }, compareRounds(rounds.one, rounds.hand), {
        ratioAtLeast: 0.5,
      }),
      figure(
        { name: `units, ${manyWriters} writers`, unit: "/s", against: byHand },
        compareRounds(rounds.many, rounds.hand),
        { ratioAtLeast: 3 },
      ),
      figure(
        { name: `units, 3 nodes, ${manyWriters} writers each`, unit: "/s", against: `1 node, ${manyWriters} writers` },
        compareRounds(rounds.nodes, rounds.many),
        { ratioAtLeast: 0.8 },
      ),
      figure(
        {
          name: `units, 2 projects, ${manyWriters} writers each`,
          unit: "/s",
          against: `1 project, ${manyWriters} writers`,
        },
        compareRounds(rounds.projects, rounds.many),
        { ratioAtLeast: 1.3 },
      ),
      await feedDelay(first, nodes[1] ?? first, hand, quick ? 30 : 300),
    ];
  },
};

function admit(nodes: readonly ClusterNode[], writers: number, each: number): Promise<number> {
  return rate(nodes.length * writers * each, () => Promise.all(nodes.map((node) => node.admit(writers, each))));
}

/** From the answer to a commit on one node until another node publishes its event, without the round trip. */
async function feedDelay(writer: ClusterNode, reader: ClusterNode, hand: Hand, count: number): Promise<Figure> {
  await reader.seen();
  const commits = await writer.commits(count);
  const last = commits.at(-1)?.[0] ?? 0;
  const seen = new Map<number, number>();
  while (!seen.has(last)) for (const [seq, at] of await reader.seen()) seen.set(seq, at);
  const delays = commits.map(([seq, at]) => (seen.get(seq) ?? Number.POSITIVE_INFINITY) - at);
  const roundTrip = await hand.roundTripMs(count);
  const over = Math.max(0, median(delays) - roundTrip);
  return figure(
    { name: "commit to another node, p50", unit: "ms", against: "a round trip" },
    compareValues(over, roundTrip),
    { valueBelow: 10 },
  );
}

type Hand = Awaited<ReturnType<typeof openHand>>;

/** The same rows in the same tables, as a small program would write them: prepared statements, one after the other. */
async function openHand(url: string, scope: AsyncDisposableStack) {
  const client = new Client(url);
  await client.connect();
  scope.defer(() => client.end());
  await client.query("SET search_path = hand");
  const { rows: sessions } = await client.query<{ id: string }>("SELECT id FROM sessions");
  const session = sessions[0]?.id;
  const statement = (name: string, text: string, values: unknown[]) => client.query({ name, text, values });
  const admitOne = async () => {
    const row = message(newId("ses", 1), { id: newId("msg", Date.now()), body: admittedBody });
    const { id, body, status, chain, hops, admitted_at } = row;
    await client.query("BEGIN");
    await statement("lock", "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", ["hand"]);
    const { rows } = await statement("seq", "SELECT coalesce(max(seq), 0) + 1 AS seq FROM events", []);
    await statement("session", "SELECT * FROM sessions WHERE id = $1", [session]);
    await statement("message", "SELECT * FROM messages WHERE id = $1", [id]);
    await statement(
      "insert",
      `INSERT INTO messages (id, session, sender, body, attachments, status, chain, hops, admitted_at)
        VALUES ($1, $2, $3, $4, '[]', $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
      [id, session, JSON.stringify(row.sender), body, status, chain, hops, admitted_at],
    );
    await statement("event", "INSERT INTO events (seq, at, type, session, data) VALUES ($1, 1, 'admitted', $2, $3)", [
      rows[0]?.seq,
      session,
      JSON.stringify({ message: row }),
    ]);
    await statement("notify", "SELECT pg_notify($1, $2)", ["hand", String(rows[0]?.seq)]);
    await client.query("COMMIT");
  };
  return {
    async admitMany(count: number): Promise<void> {
      for (let n = 0; n < count; n += 1) await admitOne();
    },
    /** The median of one statement that reads a row. */
    async roundTripMs(count: number): Promise<number> {
      const times: number[] = [];
      for (let n = 0; n < count; n += 1) {
        const from = performance.now();
        await statement("session", "SELECT * FROM sessions WHERE id = $1", [session]);
        times.push(performance.now() - from);
      }
      return median(times);
    },
  };
}
