/** Steps that wait for a time or a signal. The deadline is recorded, so a restart does not change it. */
import type { Json } from "@aegis/contract/run.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { RunContext } from "../engine.ts";
import type { Signals } from "./signals.ts";

/** Timers use a 32-bit delay and a monotonic clock, so long waits are split and compared with the wall clock. */
const longestPartMs = 3_600_000;

export async function sleep(context: RunContext, clock: Clock, ms: number): Promise<void> {
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`cannot sleep ${ms} ms: expected a number of at least 0`);
  await context.step(
    {
      method: "sleep",
      args: { ms },
      label: `sleep ${ms >= 1000 ? `${Math.round(ms / 10) / 100} s` : `${Math.round(ms)} ms`}`,
    },
    {
      begin: async () => ({ value: { until: clock.now() + ms } }),
      perform: async ({ begun, signal }) => waitUntil(clock, { until: untilOf(begun) ?? 0, ms }, signal),
    },
  );
}

export async function receive(
  context: RunContext,
  { clock, signals }: { clock: Clock; signals: Signals },
  name: string,
  timeoutMs: number | undefined,
): Promise<Json | null> {
  const { id } = context.run;
  type Received = { key: string; value: Json };
  const received = await context.step<Received | null>(
    { method: "receive", args: { name, timeoutMs: timeoutMs ?? null }, label: `receive ${name}` },
    {
      begin: async () => ({ value: { until: timeoutMs === undefined ? null : clock.now() + timeoutMs } }),
      perform: ({ begun, signal }) =>
        signals.receive(id, name, signal, (over) =>
          deadline(clock, { until: untilOf(begun), ms: timeoutMs ?? 0 }, signal, over),
        ),
      end: async (tx, result) => {
        if (result) await tx.signals.take(id, result.key);
      },
    },
  );
  return received?.value ?? null;
}

/** Calls back at the deadline; never if there is none. */
function deadline(
  clock: Clock,
  { until, ms }: { until: number | null; ms: number },
  signal: AbortSignal,
  over: () => void,
): void {
  if (until === null) return;
  waitUntil(clock, { until, ms }, signal).then(over, () => {});
}

/**
 * Waits for a recorded time, and never longer than the whole duration: the clock that gave the time may have been wrong,
 * on this node or on another one, and may be corrected meanwhile.
 */
async function waitUntil(clock: Clock, { until, ms }: { until: number; ms: number }, signal: AbortSignal) {
  for (let left = ms; left > 0 && clock.now() < until; ) {
    const part = Math.min(left, until - clock.now(), longestPartMs);
    await clock.sleep(part, signal);
    left -= part;
  }
}

function untilOf(begun: Json): number | null {
  const until = typeof begun === "object" && begun !== null && "until" in begun ? begun.until : null;
  return typeof until === "number" ? until : null;
}
