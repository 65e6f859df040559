/** What a queue adds: how soon a task is begun, how many come to an end, and what a long line costs. */
import type { Client } from "@aegis/client/client.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { type BenchDaemon, createSessions, plainConfig, startDaemon } from "../daemon.ts";
import { compareRounds, compareValues, type Figure, figure, interleave, percentile, rate } from "../measure.ts";
import { readMemory } from "../process-use.ts";
import { openTalk } from "../talk.ts";

const queues = `queues:
  single: { agent: parrot }
  eightfold: { agent: parrot, max_parallel: 8 }
  waiting: { agent: parrot }
`;
const producers = 20;

export const tasks: Bench = {
  name: "tasks",
  about: "tasks through queues with an agent that answers at once, against turns of one session",
  async run(context) {
    const daemon = await startDaemon(context, "project", { ".aegis.yaml": `${plainConfig}${queues}` });
    return [...(await work(context, daemon)), ...(await longLine(context, daemon))];
  },
};

async function work({ quick, signal }: BenchContext, daemon: BenchDaemon): Promise<Figure[]> {
  const { client } = daemon;
  const [session] = await createSessions(daemon, 1);
  if (session === undefined) throw new Error("the daemon made no session");
  const talk = await openTalk(client, session, signal);
  const count = quick ? 16 : 80;
  const turns = async () => {
    for (let sent = 0; sent < count; sent++) await talk.exchange("hello");
  };
  const through = (queue: string) => async () => {
    await enqueueMany(client, queue, count);
    await drained(client, queue);
  };
  const samples: number[] = [];
  const rounds = await interleave(
    {
      turns: () => rate(count, turns),
      one: () => rate(count, through("single")),
      eight: () => rate(count, through("eightfold")),
      async begun() {
        for (let sent = 0; sent < (quick ? 5 : 20); sent++) samples.push(await beginTask(client));
        return 0;
      },
    },
    quick ? 1 : 5,
    signal,
  );
  const per = { unit: "/s", against: "turns, 1 session" } as const;
  const p50 = percentile(samples, 50);
  return [
    figure({ name: "tasks to their end, max_parallel 1", ...per }, compareRounds(rounds.one, rounds.turns)),
    figure({ name: "tasks to their end, max_parallel 8", ...per }, compareRounds(rounds.eight, rounds.turns)),
    figure(
      { name: "enqueue to dispatch, p99", unit: "ms", against: "p50" },
      compareValues(percentile(samples, 99), p50),
    ),
  ];
}

/** From asking over HTTP to the answer that a worker has the task, in milliseconds. */
async function beginTask(client: Client): Promise<number> {
  const start = performance.now();
  const { task } = await client.call("enqueueTask", { path: { queue: "eightfold" }, body: { payload: "hello" } });
  const elapsed = performance.now() - start;
  if (task.status === "pending") throw new Error(`a task waits although its queue is empty`);
  await drained(client, "eightfold");
  return elapsed;
}

async function longLine({ quick }: BenchContext, { client, file }: BenchDaemon): Promise<Figure[]> {
  const count = quick ? 500 : 10_000;
  const slice = count / 10;
  await client.call("pauseQueue", { path: { queue: "waiting" } });
  const before = await readMemory(file.pid);
  const rates: number[] = [];
  for (let put = 0; put < count; put += slice) {
    rates.push(await rate(slice, () => enqueueMany(client, "waiting", slice)));
  }
  const after = await readMemory(file.pid);
  const memory = (name: string, key: keyof typeof before) =>
    figure(
      { name: `${name}, ${count} tasks waiting`, unit: "MB", against: "before them" },
      compareValues(after[key], before[key]),
    );
  return [
    figure(
      { name: `enqueued, ${producers} producers, ${count} tasks waiting`, unit: "/s", against: "an empty queue" },
      compareValues(rates.at(-1) ?? Number.NaN, rates[0] ?? Number.NaN),
    ),
    memory("memory (RSS)", "rssMb"),
    memory("memory (anonymous)", "anonMb"),
  ];
}

async function enqueueMany(client: Client, queue: string, count: number): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: producers }, async () => {
      while (left-- > 0) await client.call("enqueueTask", { path: { queue }, body: { payload: "hello" } });
    }),
  );
}

async function drained(client: Client, queue: string): Promise<void> {
  const { drained: done } = await client.call("drainQueue", { path: { queue }, body: { timeout_s: 300 } });
  if (!done) throw new Error(`queue ${queue} did not drain`);
}
