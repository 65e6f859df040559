/** The cost of an idle daemon with parked sessions. */
import { setTimeout as delay } from "node:timers/promises";
import { startIdleServer } from "../bare/start.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { type BenchDaemon, createSessions, startDaemon } from "../daemon.ts";
import { compareValues, type Figure, figure, type Goal } from "../measure.ts";
import { type Memory, readCpuSeconds, readMemory } from "../process-use.ts";
import { openTalk } from "../talk.ts";

/** How many sessions the goals speak of. */
const promisedCount = 50;

type Use = { cpuPercent: number; memory: Memory };

export const idle: Bench = {
  name: "idle",
  about: "memory and processor of a daemon with parked sessions, against a Node that only listens",
  async run(context) {
    const counts = context.quick ? [promisedCount] : [0, promisedCount, 500];
    const pids: number[] = [];
    for (const count of counts) pids.push((await parkSessions(context, count)).file.pid);
    pids.push(await startIdleServer(context.scope));
    // All of them in the same seconds, so that they see the same machine.
    const uses = await watchUse(context, pids);
    const bare = uses.pop();
    if (bare === undefined) throw new Error("the bare process was not watched");
    return counts.flatMap((count, index) => figuresOf(count, uses[index] ?? bare, bare));
  },
};

/** A daemon whose sessions have each had a turn, so that their conversations are open. */
async function parkSessions(context: BenchContext, count: number): Promise<BenchDaemon> {
  const daemon = await startDaemon(context, `parked-${count}`);
  const followed = new AbortController();
  for (const session of await createSessions(daemon, count)) {
    const talk = await openTalk(daemon.client, session, followed.signal);
    await talk.exchange("hello");
  }
  followed.abort();
  return daemon;
}

async function watchUse({ quick, signal }: BenchContext, pids: readonly number[]): Promise<Use[]> {
  // Closing the streams that followed the sessions is work too, and so is what memory they leave.
  const settleMs = quick ? 500 : 15_000;
  const watchMs = quick ? 2_000 : 10_000;
  await delay(settleMs, undefined, { signal });
  const before = await Promise.all(pids.map(readCpuSeconds));
  await delay(watchMs, undefined, { signal });
  const after = await Promise.all(pids.map(readCpuSeconds));
  const memory = await Promise.all(pids.map(readMemory));
  return memory.map((used, index) => ({
    memory: used,
    cpuPercent: (((after[index] ?? 0) - (before[index] ?? 0)) * 100_000) / watchMs,
  }));
}

function figuresOf(count: number, use: Use, bare: Use): Figure[] {
  const promised = (goal: Goal) => (count === promisedCount ? goal : undefined);
  const memory = (name: string, key: keyof Memory, goal?: Goal) =>
    figure(
      { name: `${name}, ${count} sessions`, unit: "MB", against: "idle node" },
      compareValues(use.memory[key], bare.memory[key]),
      goal,
    );
  return [
    memory("memory (RSS)", "rssMb", promised({ valueBelow: 80 })),
    memory("memory (PSS)", "pssMb"),
    memory("memory (anonymous)", "anonMb"),
    figure(
      { name: `processor, ${count} sessions`, unit: "% CPU", against: "idle node" },
      compareValues(use.cpuPercent, bare.cpuPercent),
      promised({ valueBelow: 0.5 }),
    ),
  ];
}
