/** Native sessions: many that stream at once, and how soon one stops when it is told to. */
import type { SessionId } from "@aegis/contract/ids.ts";
import { startModelServer } from "../bare/start.ts";
import type { Bench } from "../bench.ts";
import { type BenchDaemon, createSessions, startDaemon } from "../daemon.ts";
import { compareRounds, compareValues, figure, interleave, median, percentile, rate } from "../measure.ts";
import { openTalk, readEvents, type Talk } from "../talk.ts";

const manySessions = 50;

export const native: Bench = {
  name: "native",
  about: "turns of native agents on a model that streams a hundred words, fifty at once, and interrupts",
  async run(context) {
    const { quick, signal } = context;
    const model = await startModelServer(context.scope);
    const daemon = await startDaemon(context, "project", { ".aegis.yaml": config(model) });
    const sessions = await createSessions(daemon, manySessions);
    const talks = await Promise.all(sessions.map((session) => openTalk(daemon.client, session, signal)));
    const turns = quick ? 2 : 6;
    const rounds = await interleave(
      { one: () => speak(talks.slice(0, 1), turns * 5), many: () => speak(talks, turns) },
      quick ? 1 : 5,
      signal,
    );
    const { cut, idle } = await interruptAgain(daemon, sessions[0] as SessionId, quick ? 5 : 100, signal);
    const against = "1 session";
    return [
      figure(
        { name: `native turns, ${manySessions} sessions`, unit: "/s", against },
        compareRounds(rounds.many, rounds.one),
      ),
      figure(
        { name: "interrupt, p50", unit: "ms", against: "nothing to cut" },
        compareValues(median(cut), median(idle)),
      ),
      figure(
        { name: "interrupt, p99", unit: "ms", against: "nothing to cut" },
        compareValues(percentile(cut, 99), percentile(idle, 99)),
        { valueBelow: 50 },
      ),
    ];
  },
};

function config(model: string): string {
  return `
default_agent: writer
models:
  bench: { base_url: "${model}", api: openai-chat }
agents:
  writer: { harness: native, model: bench/words, permission: read }
`;
}

function speak(talks: readonly Talk[], turns: number): Promise<number> {
  return rate(talks.length * turns, () =>
    Promise.all(
      talks.map(async (talk) => {
        for (let turn = 0; turn < turns; turn++) await talk.exchange("say something");
      }),
    ),
  );
}

/** From the request to the answer, which comes when the turn has its end. */
async function interruptAgain(
  { client }: BenchDaemon,
  session: SessionId,
  times: number,
  signal: AbortSignal,
): Promise<{ cut: number[]; idle: number[] }> {
  const result = { cut: [] as number[], idle: [] as number[] };
  const path = { session };
  for (let time = 0; time < times; time++) {
    const stream = new AbortController();
    const either = AbortSignal.any([signal, stream.signal]);
    const response = await client.open("streamEvents", { query: { session, live: false }, signal: either });
    await client.call("sendMessage", { path, body: { text: "speak without end" }, signal });
    for await (const event of readEvents(response)) if (event.type === "turn.accepted") break;
    stream.abort();
    for (const name of ["cut", "idle"] as const) {
      const start = performance.now();
      await client.call("interruptSession", { path, signal });
      result[name].push(performance.now() - start);
    }
  }
  return result;
}
