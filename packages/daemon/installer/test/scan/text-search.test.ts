import fc from "fast-check";
import { expect, test } from "vitest";
import { base64Runs, WordFinder } from "../../src/scan/text-search.ts";

test("finds every word that is there, also those that overlap", () => {
  const finder = new WordFinder(["<system", "system prompt", "env", "$(env", "nc "]);
  expect([...finder.find("x <system prompt $(env; rsync .")].sort()).toEqual(
    ["$(env", "<system", "env", "nc ", "system prompt"].sort(),
  );
  expect([...finder.find("é syst€m")]).toEqual([]);
  expect([...finder.find("")]).toEqual([]);
  expect(() => new WordFinder(["a"])).toThrow(RangeError);
});

test("finds the same runs as a pattern would", () => {
  const text = fc.string({ unit: fc.constantFrom(..."aZ09+/ =-\n"), maxLength: 60 });
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 9 }), (sample, least) => {
      const expected = [...sample.matchAll(new RegExp(`[A-Za-z0-9+/]{${least},}`, "g"))];
      const runs = [...base64Runs(sample, least, 1000)];
      expect(runs).toEqual(expected.map((match) => ({ index: match.index, run: match[0] })));
    }),
    { numRuns: 2000 },
  );
});

test("a run without an end is cut into parts", () => {
  const runs = [...base64Runs("A".repeat(100), 4, 40)];
  expect(runs.map(({ index, run }) => [index, run.length])).toEqual([
    [0, 40],
    [40, 40],
    [80, 20],
  ]);
});
