import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { describe, expect, it } from "vitest";
import { silentFor, Waits } from "../../src/cli-harness/inactivity.ts";

const limit = 1_000;

function watch() {
  const clock = fakeClock(10_000);
  const plane = { open: 0, answeredAt: 0 };
  const waits = new Waits(clock, { calls: () => plane });
  let isSilent = false;
  const watched = silentFor(limit, () => 0, waits, clock, new AbortController().signal).then((silent) => {
    isSilent = silent;
  });
  const advance = async (ms: number) => {
    await clock.sleepers(1);
    await clock.advance(ms);
    return isSilent;
  };
  return { clock, plane, waits, watched, advance };
}

describe.each<[string, (scene: ReturnType<typeof watch>) => { begin: () => void; end: () => void }]>([
  ["a person who was asked", ({ waits }) => ({ begin: () => waits.begin("ask"), end: () => waits.end("ask") })],
  [
    "a call of the plane",
    ({ plane, clock }) => ({
      begin: () => Object.assign(plane, { open: 1 }),
      end: () => Object.assign(plane, { open: 0, answeredAt: clock.now() }),
    }),
  ],
])("the watch over silence and %s", (_what, waitOf) => {
  it("waits as long as that takes, and then gives the harness its whole time again", async () => {
    const scene = watch();
    const { begin, end } = waitOf(scene);
    begin();
    for (let i = 0; i < 10; i++) expect(await scene.advance(limit)).toBe(false);
    await scene.advance(limit / 2);
    end();
    expect(await scene.advance(limit - 1)).toBe(false);
    expect(await scene.advance(limit)).toBe(true);
    await scene.watched;
  });
});
