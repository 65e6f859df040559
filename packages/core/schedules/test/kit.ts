/** Schedules on a real store and runtime, by a clock that the test winds and sets. */
import { setImmediate as immediate } from "node:timers/promises";
import type { FiringId } from "@aegis/contract/ids.ts";
import type { Firing, ScheduleSettings } from "@aegis/contract/schedule.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Store } from "@aegis/store/store.ts";
import { createTransact } from "@aegis/store/transact.ts";
import { type FakeClock, fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import {
  completed,
  said,
  type TestReply,
  type TestRuntime,
  testDriver,
  testRuntime,
} from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { Schedules } from "../src/schedules.ts";

export function settings(change: Partial<ScheduleSettings> = {}): ScheduleSettings {
  return {
    action: { kind: "agent", agent: "offline", prompt: "do it" },
    cron: change.fire_at === undefined || change.fire_at === null ? "0 * * * *" : null,
    fire_at: null,
    timezone: "UTC",
    lifecycle: "forever",
    on_overlap: "skip",
    missed: "skip",
    timeout: null,
    enabled: true,
    ...change,
  };
}

/** A clock on the wall that can be set without anybody waking up. */
export type WallClock = FakeClock & { set(ms: number): void };

export function wallClock(start: number): WallClock {
  const clock = fakeClock(start);
  let offset = 0;
  return {
    ...clock,
    now: () => clock.now() + offset,
    set: (ms) => {
      offset += ms;
    },
  };
}

export type Kit = {
  clock: WallClock;
  runtime: TestRuntime;
  store: Store;
  schedules: Schedules;
  /** Resolves when nothing is being stored any more: what the clock woke has got as far as it can. */
  quiet(): Promise<void>;
  /** What the files say; change it and call `settingsChanged`. */
  declared: Record<string, ScheduleSettings>;
  stop(): Promise<void>;
};

export const answers: TestReply = async function* ({ prompt }) {
  yield said(`did: ${prompt.text.split("\n").at(-1)}`);
  yield completed;
};

export async function kit(
  dir: string,
  declared: Record<string, ScheduleSettings>,
  options: {
    clock: WallClock;
    reply?: TestReply;
    wrap?: (store: Store) => Store;
    isDead?: () => boolean;
    /** Why a schedule must not fire. */
    refusal?: (name: string) => string | null;
  },
): Promise<Kit> {
  const { clock, wrap } = options;
  const units = openUnits();
  const runtime = await testRuntime(dir, testDriver(options.reply ?? answers), {
    clock,
    wrap: (store) => units.counted(wrap?.(store) ?? store),
    ...(options.isDead === undefined ? {} : { isDead: options.isDead }),
  });
  const { store } = runtime;
  runtime.workflows.add(
    workflow("echo", {}, async (engine) => engine.step("count", async () => "done")),
    "a test",
  );
  const end = new AbortController();
  const schedules = new Schedules({
    ...runtime,
    clock,
    log: silentLogger,
    transact: createTransact({ store, clock, log: silentLogger, signal: end.signal }),
    waiting: [],
    held: () => [],
    refusal: async (name) => options.refusal?.(name) ?? null,
    declared: () =>
      Object.fromEntries(Object.entries(declared).map(([name, entry]) => [name, { settings: entry, file: "test" }])),
  });
  const boot = async () => {
    await runtime.recover();
    await runtime.sessions.wakeAll();
    await runtime.queues.start();
    await runtime.workflows.launch();
    await schedules.start();
    await schedules.resume();
  };
  await boot();
  return {
    clock,
    runtime,
    store,
    schedules,
    declared,
    quiet: units.none,
    async stop() {
      await schedules.stop();
      end.abort();
      await runtime.stop();
    },
  };
}

/** Counts the units of work that a store has not answered yet. */
function openUnits(): { counted(store: Store): Store; none(): Promise<void> } {
  let open = 0;
  return {
    counted: (store) => ({
      read: store.read,
      async transact(unit) {
        open += 1;
        try {
          return await store.transact(unit);
        } finally {
          open -= 1;
        }
      },
      onCommit: (...listener) => store.onCommit(...listener),
      health: () => store.health(),
      close: () => store.close(),
    }),
    async none() {
      // A unit may be followed by another one: only several turns of the event loop without any are the end.
      for (let turns = 0; turns < 5; turns = open === 0 ? turns + 1 : 0) await immediate();
    },
  };
}

/** Firings of a schedule, oldest first. */
export async function firings({ store }: Pick<Kit, "store">, schedule?: string): Promise<Firing[]> {
  return (await store.read.firings.list({ schedule, limit: 10_000 })).reverse();
}

export async function over(at: Pick<Kit, "store">, id: FiringId): Promise<Firing> {
  await waitUntil(`firing ${id} is over`, async () => (await at.store.read.firings.get(id))?.ended_at !== null);
  const firing = await at.store.read.firings.get(id);
  if (firing === null) throw new Error("unreachable: it was there");
  return firing;
}

/** As short as can be read: `01:00 ok`. */
export function brief(list: readonly Firing[]): string[] {
  return list.map((one) => `${new Date(one.slot).toISOString().slice(11, 16)} ${one.status}${one.late ? " late" : ""}`);
}
