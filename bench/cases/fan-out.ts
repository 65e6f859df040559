/** The same events to a hundred subscribers as to one. */
import type { Bench } from "../bench.ts";
import { type BenchDaemon, createSessions, startDaemon } from "../daemon.ts";
import { subscribeMany } from "../fan-out.ts";
import { compareRounds, compareValues, figure, interleave, percentile } from "../measure.ts";
import { openTalk, type Talk } from "../talk.ts";

const sessionCount = 20;
const manySubscribers = 100;

type Delivery = { rate: number; lags: number[] };

export const fanOut: Bench = {
  name: "fan-out",
  about: "events delivered to 100 event streams while 20 sessions work, against one stream",
  async run(context) {
    const { quick, signal } = context;
    const daemon = await startDaemon(context);
    const sessions = await createSessions(daemon, sessionCount);
    const talks = await Promise.all(sessions.map((session) => openTalk(daemon.client, session, signal)));
    const turnsEach = quick ? 2 : 8;
    const rounds = await interleave(
      {
        one: () => deliver(daemon, talks, turnsEach, 1),
        many: () => deliver(daemon, talks, turnsEach, manySubscribers),
      },
      quick ? 1 : 5,
      signal,
    );
    const rates = (name: keyof typeof rounds) => rounds[name].map((round) => round.rate);
    const lag = (name: keyof typeof rounds, percent: number) =>
      percentile(
        rounds[name].flatMap((round) => round.lags),
        percent,
      );
    const against = "1 subscriber";
    return [
      figure(
        { name: `events delivered, ${manySubscribers} subscribers`, unit: "/s", against },
        compareRounds(rates("many"), rates("one")),
      ),
      ...[50, 99].map((percent) =>
        figure(
          { name: `lag with ${manySubscribers} subscribers, p${percent}`, unit: "ms", against },
          compareValues(lag("many", percent), lag("one", percent)),
        ),
      ),
    ];
  },
};

/** Has every session do its turns, and counts what reaches the subscribers. */
async function deliver(
  daemon: BenchDaemon,
  talks: readonly Talk[],
  turnsEach: number,
  subscribers: number,
): Promise<Delivery> {
  await using scope = new AsyncDisposableStack();
  const readers = await subscribeMany(daemon, subscribers, scope);
  const start = Date.now();
  await Promise.all(
    talks.map(async (talk) => {
      for (let sent = 0; sent < turnsEach; sent++) await talk.exchange("hello");
    }),
  );
  const { last_seq } = await daemon.client.call("listEvents", { query: { limit: 1 } });
  const seen = await readers.readUntil(last_seq);
  return { rate: (seen.events * 1000) / (seen.at - start), lags: seen.lags };
}
