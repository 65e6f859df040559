/** From sending a message to seeing its first event: HTTP in, an fsync, server-sent events out. */
import type { Client } from "@aegis/client/client.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { startEchoServer } from "../bare/start.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { createSessions, startDaemon } from "../daemon.ts";
import { compareValues, figure, interleave, percentile } from "../measure.ts";
import { openTalk } from "../talk.ts";

export const latency: Bench = {
  name: "latency",
  about: "message to first event over HTTP and server-sent events, against an echo by node:http alone",
  async run(context) {
    const { quick, scope, signal } = context;
    const daemon = await startDaemon(context);
    const [session] = await createSessions(daemon, 1);
    if (session === undefined) throw new Error("the daemon made no session");
    const samples = await interleave(
      {
        ours: await firstEvents(context, daemon.client, session),
        bare: await firstEvents(context, await startEchoServer(scope), newId("ses", Date.now())),
      },
      quick ? 2 : 12,
      signal,
    );
    const at = (name: keyof typeof samples, percent: number) => percentile(samples[name].flat(), percent);
    return [50, 99].map((percent) =>
      figure(
        { name: `message to first event, p${percent}`, unit: "ms", against: "bare echo" },
        compareValues(at("ours", percent), at("bare", percent)),
      ),
    );
  },
};

async function firstEvents(
  { quick, signal }: BenchContext,
  client: Client,
  session: SessionId,
): Promise<() => Promise<number[]>> {
  const talk = await openTalk(client, session, signal);
  return async () => {
    const samples: number[] = [];
    for (let sent = 0; sent < (quick ? 10 : 40); sent++) samples.push((await talk.exchange("hello")).firstMs);
    return samples;
  };
}
