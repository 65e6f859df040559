import { expect, it, onTestFinished, vi } from "vitest";
import { ServerClock } from "../src/server-clock.ts";

/** Sets both clocks of this machine. */
function machine() {
  const times = { monotonic: 1_000, wall: 50_000 };
  vi.spyOn(performance, "now").mockImplementation(() => times.monotonic);
  vi.spyOn(Date, "now").mockImplementation(() => times.wall);
  onTestFinished(() => void vi.restoreAllMocks());
  return times;
}

it("follows the server between its answers, and not the clock of the machine", () => {
  const times = machine();
  const clock = new ServerClock();
  clock.read(900_000, 1_000, 1_000);
  times.wall += 3_600_000;
  times.monotonic += 250;
  expect(clock.now()).toBe(900_250);
});

it("is not misled by a slow answer, and follows a clock that was set", () => {
  const times = machine();
  const clock = new ServerClock();
  clock.read(900_000, 1_000, 1_000);
  // The server read its clock somewhere in these two seconds, as the estimate says too.
  times.monotonic = 3_000;
  clock.read(900_100, 1_000, 3_000);
  expect(clock.now()).toBe(902_000);
  clock.read(960_000, 3_000, 3_010);
  times.monotonic = 3_010;
  expect(clock.now()).toBe(960_000);
  clock.read(800_000, 3_010, 3_020);
  times.monotonic = 3_020;
  expect(clock.now()).toBe(800_010);
});
