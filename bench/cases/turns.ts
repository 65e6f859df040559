/** What Aegis adds to a turn: the scripted agent answers with one line at once, so all that is left is ours. */
import type { Client } from "@aegis/client/client.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { startEchoServer } from "../bare/start.ts";
import type { Bench } from "../bench.ts";
import { createSessions, startDaemon } from "../daemon.ts";
import { compareRounds, figure, interleave, median } from "../measure.ts";
import { openTalk, type Talk } from "../talk.ts";

const manySessions = 20;

type Round = { rate: number; endMs: number };

export const turns: Bench = {
  name: "turns",
  about: "whole turns through the daemon, one session and twenty at once, against an echo by node:http alone",
  async run(context) {
    const { quick, scope, signal } = context;
    const daemon = await startDaemon(context);
    const sessions = await createSessions(daemon, manySessions);
    const ours = await openTalks(daemon.client, sessions, signal);
    const bareSessions = sessions.map(() => newId("ses", Date.now()));
    const bare = await openTalks(await startEchoServer(scope), bareSessions, signal);
    const rounds = await interleave(
      {
        ours: () => talkAll(ours.slice(0, 1), quick ? 10 : 40),
        bare: () => talkAll(bare.slice(0, 1), quick ? 10 : 40),
        oursMany: () => talkAll(ours, quick ? 3 : 15),
        bareMany: () => talkAll(bare, quick ? 3 : 15),
      },
      quick ? 2 : 7,
      signal,
    );
    const rates = (name: keyof typeof rounds) => rounds[name].map((round) => round.rate);
    const ends = (name: keyof typeof rounds) => rounds[name].map((round) => round.endMs);
    const against = "bare echo";
    const alone = { name: "turns, 1 session", unit: "/s", against } as const;
    const together = { name: `turns, ${manySessions} sessions`, unit: "/s", against } as const;
    return [
      figure({ name: "turn, send to end", unit: "ms", against }, compareRounds(ends("ours"), ends("bare")), {
        valueBelow: 5,
      }),
      figure(alone, compareRounds(rates("ours"), rates("bare"))),
      figure(together, compareRounds(rates("oursMany"), rates("bareMany"))),
      figure({ ...together, against: "1 session" }, compareRounds(rates("oursMany"), rates("ours"))),
    ];
  },
};

function openTalks(client: Client, sessions: readonly SessionId[], signal: AbortSignal): Promise<Talk[]> {
  return Promise.all(sessions.map((session) => openTalk(client, session, signal)));
}

async function talkAll(talks: readonly Talk[], count: number): Promise<Round> {
  const ends: number[] = [];
  const start = performance.now();
  await Promise.all(
    talks.map(async (talk) => {
      for (let sent = 0; sent < count; sent++) ends.push((await talk.exchange("hello")).endMs);
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  return { rate: (talks.length * count) / seconds, endMs: median(ends) };
}
