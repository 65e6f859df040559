/**
 * Starts the sessions that wait when the daemon starts, a few at a time: the processes of all of them at once would keep
 * the machine from everything else. A session whose turns one stop after another interrupted waits longer each time.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import type { Store } from "@aegis/store/store.ts";

export type WaitingOptions = {
  store: Store;
  clock: Clock;
  signal: AbortSignal;
  wake: (session: SessionId) => void;
};

const atOnce = 4;
/** A session that has said nothing for so long no longer holds up the next ones. */
const startMs = 5_000;
/** The first interruptions in a row are repeated without a delay. */
const cutsAtOnce = 2;
const cutBackoff: Backoff = { firstMs: 1_000, longestMs: 60_000 };
const mostCuts = cutsAtOnce + 8;

/** Resolves when all of them were woken. A session that is woken for another reason meanwhile starts then. */
export async function startWaiting(sessions: readonly SessionId[], options: WaitingOptions): Promise<void> {
  const { store, clock, signal, wake } = options;
  const cuts = await Promise.all(
    sessions.map(async (session) => {
      const turns = await store.read.turns.list(session, mostCuts);
      const other = turns.findIndex(({ reason }) => reason !== "lost");
      return { session, cuts: other === -1 ? turns.length : other };
    }),
  );
  // Those that were interrupted least come first.
  const line = cuts.sort((a, b) => a.cuts - b.cuts);
  const starting = new Map<SessionId, () => void>();
  const stop = store.onCommit(
    (events) => {
      // The harness has started once its turn says something.
      for (const { session, type } of events)
        if (session !== null && type.startsWith("turn.") && type !== "turn.started") starting.get(session)?.();
    },
    undefined,
    "own",
    starting,
  );
  const from = clock.now();
  const start = async ({ session, cuts: count }: (typeof line)[number]) => {
    const late = count - cutsAtOnce;
    const due = from + (late > 0 ? backoffMs(cutBackoff, late) : 0);
    if (due > clock.now()) await clock.sleep(due - clock.now(), signal);
    const begun = Promise.withResolvers<void>();
    starting.set(session, begun.resolve);
    const over = new AbortController();
    const release = onAbort(signal, () => over.abort());
    wake(session);
    await Promise.race([begun.promise, clock.sleep(startMs, over.signal).catch(() => {})]);
    over.abort();
    release();
    starting.delete(session);
  };
  const work = line.values();
  const runner = async () => {
    for (const one of work) {
      if (signal.aborted) return;
      await start(one);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, runner));
  } finally {
    stop();
  }
}
