// @module-tag slow
/** Stops the daemon after every single commit of a firing and starts it again: each slot has exactly one effect. */

import type { ScheduleAction, ScheduleSettings } from "@aegis/contract/schedule.ts";
import type { Store } from "@aegis/store/store.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { type MortalStore, mortalStore } from "../../../base/engine/test/mortal-store.ts";
import { answers, firings, type Kit, kit, settings, type WallClock, wallClock } from "./kit.ts";

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 5, 0, 30);
const queue = { agent: "offline", max_parallel: 1, retries: 2, timeout: null, on_crash: "retry" as const, budgets: [] };

const actions: ScheduleAction[] = [
  { kind: "workflow", workflow: "echo", args: {} },
  { kind: "queue", queue: "work", payload: "clean up" },
  { kind: "agent", agent: "offline", prompt: "do it" },
];

type Life = { at: Kit; store: MortalStore };

async function live(
  dir: string,
  entry: ScheduleSettings,
  clock: WallClock,
  lives: number,
): Promise<Life | MortalStore> {
  let store: MortalStore | null = null;
  const wrap = (real: Store) => {
    store = mortalStore(real, lives);
    return store;
  };
  let isDead = false;
  const booted = kit(dir, { s: entry }, { clock, wrap, reply: answers, isDead: () => isDead });
  await waitUntil("the store is open", () => store !== null);
  const mortal = store as unknown as MortalStore;
  void mortal.died.then(() => {
    isDead = true;
  });
  const at = await Promise.race([booted, mortal.died.then(() => null)]);
  return at === null ? mortal : { at, store: mortal };
}

/** The result of one slot: everything that was started for it, by any daemon. */
async function effects(at: Kit, kind: ScheduleAction["kind"]): Promise<number> {
  const { runtime } = at;
  if (kind === "workflow") return (await runtime.workflows.runs.list({ limit: 99 })).length;
  if (kind === "queue") return (await runtime.queues.tasks({ limit: 99 })).length;
  return (await runtime.sessions.list({ closed: true, client: "x" })).length;
}

async function uninterrupted(action: ScheduleAction): Promise<number> {
  const { commits } = await scenario(action, Number.POSITIVE_INFINITY);
  return commits;
}

/** Fires one slot with a store that dies after so many commits, then starts again with one that lives. */
async function scenario(action: ScheduleAction, lives: number): Promise<{ commits: number }> {
  const dir = await tempDir();
  const clock = wallClock(start);
  const entry = settings({ action, lifecycle: "once", missed: "once" });
  const prepared = await kit(dir, {}, { clock });
  if (action.kind === "queue") await prepared.runtime.queues.add("work", queue);
  await prepared.stop();

  const first = await live(dir, entry, clock, lives);
  const store = "at" in first ? first.store : first;
  if ("at" in first) {
    await Promise.race([clock.advance(hour), store.died]);
    await Promise.race([waitUntil("it is over", () => isOver(first.at), 20_000), store.died]);
    if (lives === Number.POSITIVE_INFINITY) {
      const { commits } = store;
      await first.at.stop();
      return { commits };
    }
  }
  store.die();

  const at = await kit(dir, { s: entry }, { clock });
  await clock.advance(hour);
  await waitUntil("it is over", () => isOver(at), 20_000);
  expect(await firings(at), `after ${lives} commits`).toMatchObject([{ status: "ok", slot: start + hour / 2 }]);
  expect(await effects(at, action.kind), `after ${lives} commits`).toBe(1);
  await clock.advance(2 * hour);
  expect(await firings(at)).toHaveLength(1);
  await at.stop();
  return { commits: store.commits };
}

async function isOver(at: Kit): Promise<boolean> {
  const list = await firings(at);
  return list.length > 0 && list.every((firing) => firing.ended_at !== null);
}

it.each(actions)("$kind: one effect, wherever the daemon is killed", { timeout: scaled(120_000) }, async (action) => {
  const commits = await uninterrupted(action);
  expect(commits).toBeGreaterThan(3);
  for (let lives = 1; lives <= commits; lives++) await scenario(action, lives);
});
