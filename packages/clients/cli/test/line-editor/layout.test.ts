import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graphemeBefore } from "../../src/line-editor/graphemes.ts";
import { layout, moveVertically, rowText, widthOf } from "../../src/line-editor/layout.ts";

const geometry = { first: 6, rest: 10 };
const textOf = fc
  .array(fc.constantFrom("a", "b c", "\n", "\t", "日", "é", "e\u0301", "👩‍👩‍👧", "🇩🇪", "❤️", "word "), { maxLength: 60 })
  .map((parts) => parts.join(""));
const shown = (text: string, cursor: number, most = 100) =>
  layout(text, cursor, geometry, most).rows.map((row) => rowText(text, row, (part) => `[${part}]`));

it("breaks lines at the edge, and marks the cursor", () => {
  expect(shown("abcdefghij\nkl", 3)).toEqual(["abc[d]ef", "ghij", "kl"]);
  expect(shown("abcdef", 6)).toEqual(["abcdef", "[ ]"]);
  expect(shown("a\nb", 1)).toEqual(["a[ ]", "b"]);
  expect(shown("日本語日", 4)).toEqual(["日本語", "日[ ]"]);
  expect(shown("a\tb", 1)).toEqual(["a[ ]   b"]);
  expect(shown("", 0)).toEqual(["[ ]"]);
});

it("shows the rows around the cursor, and says whether there are more", () => {
  const text = Array.from({ length: 50 }, (_, index) => `line ${index}`).join("\n");
  const at = layout(text, text.indexOf("line 25"), geometry, 5);
  expect(at.rows.map(({ from, to }) => text.slice(from, to))).toEqual([23, 24, 25, 26, 27].map((n) => `line ${n}`));
  expect(at).toMatchObject({ above: true, below: true });
  expect(layout(text, text.length, geometry, 3)).toMatchObject({ above: true, below: false });
  expect(layout(text, 0, geometry, 3)).toMatchObject({ above: false, below: true });
});

describe("whatever the text is", () => {
  it("no row is wider than its room, and the cursor is in exactly one", () => {
    fc.assert(
      fc.property(
        textOf,
        fc.nat(),
        fc.integer({ min: 4, max: 20 }),
        fc.integer({ min: 1, max: 9 }),
        (text, at, width, most) => {
          const cursor = graphemeBefore(text, at % (text.length + 1));
          const { rows } = layout(text, cursor, { first: width, rest: width }, most);
          expect(rows.length).toBeLessThanOrEqual(most);
          expect(rows.filter((row) => row.cursor !== null)).toHaveLength(1);
          for (const row of rows) {
            const cells = widthOf(text, row.from, row.to);
            const atEnd = row.cursor !== null && row.cursor >= row.to ? 1 : 0;
            expect(cells + atEnd).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });

  it("the rows hold all of it, in order", () => {
    fc.assert(
      fc.property(textOf, fc.nat(), (text, at) => {
        const { rows, above, below } = layout(text, at % (text.length + 1), geometry, 1_000);
        expect([above, below]).toEqual([false, false]);
        let end = 0;
        for (const { from, to } of rows) {
          expect(text.slice(end, from)).toMatch(/^\n?$/);
          end = to;
        }
        expect(text.slice(end)).toBe("");
      }),
    );
  });

  it("up and down go one row, and back", () => {
    fc.assert(
      fc.property(textOf, fc.nat(), (text, at) => {
        const cursor = graphemeBefore(text, at % (text.length + 1));
        const below = moveVertically(text, cursor, geometry, 1);
        const rowOf = (offset: number) =>
          layout(text, offset, geometry, 1_000).rows.findIndex((row) => row.cursor !== null);
        if (below === null) expect(rowOf(cursor)).toBe(layout(text, cursor, geometry, 1_000).rows.length - 1);
        else expect(moveVertically(text, below, geometry, -1)).not.toBeNull();
      }),
    );
  });
});

it("measures only what is near the cursor", () => {
  const fastest = (text: string) => {
    const times = Array.from({ length: 10 }, (_, index) => {
      const started = performance.now();
      layout(text, text.length - index, { first: 80, rest: 80 }, 10);
      return performance.now() - started;
    });
    return Math.min(...times);
  };
  expect(fastest("日本語 ".repeat(250_000))).toBeLessThan(20 * fastest("日本語 ".repeat(2_500)));
});
