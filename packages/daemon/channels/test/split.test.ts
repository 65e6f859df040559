import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitMarkdown } from "../src/split.ts";

describe("Markdown in parts", () => {
  it("is cut between paragraphs, and a cut block of code is closed and opened again", () => {
    expect(splitMarkdown(`${"a".repeat(60)}\n\n${"b".repeat(60)}`, 100).map((part) => part.trim())).toEqual([
      "a".repeat(60),
      "b".repeat(60),
    ]);
    const code = Array.from({ length: 20 }, (_, index) => `line ${index} of it`).join("\n");
    const parts = splitMarkdown(`~~~ts\n${code}\n~~~\nend`, 120);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      expect(part).toMatch(/^~~~ts\n/);
      expect(part.match(/~~~/g)).toHaveLength(2);
    }
  });

  it("breaks no limit and loses no word, whatever the text is", () => {
    const piece = fc.constantFrom("word ", "\n", "\n\n", "```\n", "```js\n", "~~~\n", "🎉", "x".repeat(70), "\r\n");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("");
        const parts = splitMarkdown(text, 200);
        const words = (given: string) => given.replace(/[^wordx🎉]/gu, "");
        expect(words(parts.join("").replace(/(```|~~~)(js)?/g, ""))).toBe(words(text.replace(/(```|~~~)(js)?/g, "")));
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(200);
          expect(part.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});
