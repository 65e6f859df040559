/** The pure models of the web app. */

import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { Batches } from "../src/model/batches.ts";
import { diffOf, spansOf } from "../src/model/diff-lines.ts";
import { age, count, duration, money, oneLine } from "../src/model/format.ts";
import { Heights } from "../src/model/heights.ts";
import { misleadingHost, safeHref } from "../src/model/links.ts";
import { piecesOf } from "../src/model/syntax.ts";
import { TimeScale } from "../src/model/time-scale.ts";

const session = newId("ses", 1);

it("items of the stream wait for the frame of a key, but not for ever", () => {
  const frames: (() => void)[] = [];
  const taken: number[][] = [];
  const batches = new Batches<number>(
    (items) => taken.push([...items]),
    (run) => frames.push(run),
  );
  const frame = () => frames.shift()?.();
  batches.add(1);
  batches.add(2);
  expect(frames).toHaveLength(1);
  frame();
  expect(taken).toEqual([[1, 2]]);
  batches.add(3);
  batches.typed();
  frame();
  batches.add(4);
  expect(taken).toHaveLength(1);
  frame();
  expect(taken[1]).toEqual([3, 4]);
  batches.add(5);
  let shown = 0;
  for (; taken.length === 2 && shown < 20; shown++) {
    batches.typed();
    frame();
  }
  expect([shown, taken[2]]).toEqual([5, [5]]);
  expect(frames).toEqual([]);
});

it("folds long gaps and maps times back and forth", () => {
  const span = (from: number, to: number) => ({ session, from, to, kind: "turn" as const });
  const scale = new TimeScale([span(0, 10_000), span(3_600_000, 3_620_000)], 3_620_000, {
    pixelsPerMs: 0.01,
    foldWidth: 36,
    fold: true,
  });
  expect(scale.segments.map(({ folded }) => folded)).toEqual([false, true, false]);
  expect(scale.width).toBeCloseTo(100 + 36 + 200);
  for (const time of [0, 5_000, 3_600_000, 3_615_000]) expect(scale.time(scale.x(time))).toBeCloseTo(time, 0);
});

describe("small parts", () => {
  it("find rows by their heights", () => {
    const heights = new Heights(10);
    heights.resize(1_000);
    heights.set(3, 50);
    expect([heights.total, heights.offset(4), heights.at(79), heights.at(80)]).toEqual([10_040, 80, 3, 4]);
    heights.shift(2);
    expect([heights.length, heights.offset(6)]).toEqual([1_002, 100]);
    heights.shift(-2);
    expect([heights.length, heights.offset(4)]).toEqual([1_000, 80]);
  });

  it("allow only plain links", () => {
    expect(safeHref("https://a.test/x")).toBe("https://a.test/x");
    expect(safeHref("mailto:a@b.test")).toBe("mailto:a@b.test");
    for (const bad of [
      "javascript:x",
      "java\tscript:x",
      "//a.test",
      "/v1",
      "#/s",
      "data:text/html,x",
      "https://u:p@a.test/",
    ])
      expect(safeHref(bad), bad).toBeNull();
    expect(misleadingHost("https://good.test", "https://evil.test/")).toBe("evil.test");
    expect(misleadingHost("the notes", "https://evil.test/")).toBeNull();
  });

  it("mark the words that differ", () => {
    const diff = diffOf("a\nold word here\nb\n", "a\nnew word here\nb\n");
    if ("tooLarge" in diff) throw new Error("too large");
    expect([diff.added, diff.removed]).toEqual([1, 1]);
    const added = diff.lines.find((line) => line.kind === "add");
    expect(added?.kind === "add" ? spansOf(added).filter(({ changed }) => changed) : []).toEqual([
      { text: "new", changed: true },
    ]);
    expect(diffOf("x".repeat(400_000), "")).toEqual({ tooLarge: true });
  });

  it("read the highlighter's output without HTML", () => {
    expect(
      piecesOf('<span class="hljs-keyword">const</span> a = <span class="hljs-string">&quot;&lt;b&gt;&quot;</span>'),
    ).toEqual([
      ["key", "const"],
      ["", " a = "],
      ["string", '"<b>"'],
    ]);
  });

  it("write numbers and times short, and one line of hostile text", () => {
    expect([age(3_000), age(61_000), count(12_400), money(0.004), money(1.5)]).toEqual([
      ...["now", "1 min", "12k", "<$0.01", "$1.50"],
    ]);
    expect([-1, 24, 100, 61_000].map(duration)).toEqual(["0 ms", "24 ms", "0.1 s", "1 min 01 s"]);
    expect(oneLine("a\u202e\u0000b\n\tc")).toBe("ab c");
  });
});
