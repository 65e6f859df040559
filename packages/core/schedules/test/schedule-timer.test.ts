import type { Logger } from "@aegis/lib/log.ts";
import { expect, it, onTestFinished } from "vitest";
import { lookEveryMs, ScheduleTimer } from "../src/schedule-timer.ts";
import { wallClock } from "./kit.ts";

const start = Date.UTC(2026, 0, 5);
const hour = 3_600_000;

function wound(next: () => number | null) {
  const clock = wallClock(start);
  const looks: number[] = [];
  const said: string[] = [];
  const note = (message: string) => void said.push(message);
  const log: Logger = { debug: note, info: note, warn: note, error: note };
  const clockwork = new ScheduleTimer({
    clock,
    log,
    work: async () => {
      looks.push(clock.now());
      return next();
    },
  });
  onTestFinished(() => clockwork.stop());
  clockwork.start();
  return { clock, looks, said, clockwork };
}

it("looks at the moment that is due, and once a minute until then", async () => {
  const { clock, looks } = wound(() => start + 90_000);
  await clock.advance(90_000);
  expect(looks.slice(0, 3)).toEqual([start, start + lookEveryMs, start + 90_000]);
});

it("waits for weeks in parts that a timer can count", async () => {
  const { clock, looks } = wound(() => start + 60 * 24 * hour);
  await clock.advance(3 * hour);
  expect(looks).toHaveLength(3 * 60 + 1);
});

it("has no timer while nothing will be due, until somebody nudges it", async () => {
  let next: number | null = null;
  const { clock, looks, clockwork } = wound(() => next);
  await clock.advance(24 * hour);
  expect(looks).toHaveLength(1);
  next = clock.now() + 30_000;
  clockwork.nudge();
  await clock.advance(30_000);
  expect(looks.slice(1, 3)).toEqual([start + 24 * hour, start + 24 * hour + 30_000]);
});

it("does not run in circles when the clock is set, and says that it was", async () => {
  const { clock, looks, said } = wound(() => start + 365 * 24 * hour);
  await clock.advance(10 * lookEveryMs);
  clock.set(-24 * hour);
  await clock.advance(10 * lookEveryMs);
  clock.set(48 * hour);
  await clock.advance(10 * lookEveryMs);
  expect(looks).toHaveLength(31);
  expect(said).toEqual(["the clock was set back", expect.stringContaining("set forward")]);
});

it("tries again when the work fails, after a while", async () => {
  let fails = 3;
  const { clock, looks, said } = wound(() => {
    if (fails-- > 0) throw new Error("the disk is full");
    return null;
  });
  await clock.advance(hour);
  expect(looks).toHaveLength(4);
  expect(said).toHaveLength(3);
});

it("stops at once, whatever it waits for", async () => {
  const { clockwork } = wound(() => start + 24 * hour);
  await clockwork.stop();
  const idle = wound(() => null);
  await idle.clockwork.stop();
});
