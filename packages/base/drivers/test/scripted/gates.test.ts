import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, test } from "vitest";
import { Gates } from "../../src/scripted/gates.ts";

test("all who wait for one file share its watch, pass when it is there, and leave nothing behind", async () => {
  const file = join(await tempDir(), "open");
  const clock = fakeClock();
  const gates = new Gates(clock);
  const leaving = new AbortController();
  const left = gates.passed(file, leaving.signal);
  const passed = Promise.all([1, 2, 3].map(() => gates.passed(file, AbortSignal.timeout(scaled(10_000)))));
  await clock.sleepers(1);
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await writeFile(file, "");
  await clock.advance(20);
  await passed;
  await gates.passed(file, AbortSignal.timeout(scaled(10_000)));
  expect(clock.sleeping).toBe(0);
});

test("the last to leave ends the watch", async () => {
  const clock = fakeClock();
  const leaving = new AbortController();
  const waiting = new Gates(clock).passed(join(await tempDir(), "open"), leaving.signal);
  await clock.sleepers(1);
  leaving.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  expect(clock.sleeping).toBe(0);
});
