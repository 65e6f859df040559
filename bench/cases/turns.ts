/** What Aegis adds to a turn: the scripted agent answers with one line at once, so all that is left is ours. */
import type { Client } from "../../src/client/client.ts";
import { newId, type SessionId } from "../../src/contract/ids.ts";
import { startEchoServer } from "../bare/start.ts";
import type { Bench } from "../bench.ts";
import { createSessions, startDaemon } from "../daemon.ts";
import { figure, interleave, median } from "../measure.ts";
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
    const alone = quick ? 10 : 40;
    const together = quick ? 3 : 15;
    const rounds = await interleave(
      {
        ours: () => talkAll(ours.slice(0, 1), alone),
        bare: () => talkAll(bare.slice(0, 1), alone),
        oursMany: () => talkAll(ours, together),
        bareMany: () => talkAll(bare, together),
      },
      quick ? 2 : 7,
      signal,
    );
    const rate = (name: keyof typeof rounds) => median(rounds[name].map((round) => round.rate));
    const endMs = (name: keyof typeof rounds) => median(rounds[name].map((round) => round.endMs));
    const against = "bare echo";
    return [
      figure(
        { name: "turn, send to end", unit: "ms", ours: endMs("ours"), base: endMs("bare"), against },
        { valueBelow: 5 },
      ),
      figure({ name: "turns, 1 session", unit: "/s", ours: rate("ours"), base: rate("bare"), against }),
      figure({ name: "turns, 20 sessions", unit: "/s", ours: rate("oursMany"), base: rate("bareMany"), against }),
      figure({
        name: "turns, 20 sessions",
        unit: "/s",
        ours: rate("oursMany"),
        base: rate("ours"),
        against: "1 session",
      }),
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
