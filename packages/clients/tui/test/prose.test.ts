import { Markdown } from "@earendil-works/pi-tui/dist/components/markdown.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isProse, wrap } from "../src/view/transcript.ts";

const same = (text: string) => text;
const theme = new Proxy({}, { get: () => same }) as ConstructorParameters<typeof Markdown>[3];

function parsed(text: string, width: number): string[] {
  const lines = new Markdown(text, 0, 0, theme, undefined, { renderLatex: false }).render(width);
  return lines.map((line) => line.trimEnd());
}

it.each([
  "1. first",
  "2) second",
  "a *b*",
  "a\n---",
  "a  \nb",
  " a",
  "www.example.com",
  "example.com",
  "a@b.de",
  "http://a",
  "`a`",
  "# a",
  "a_b_c",
  "",
])("takes %j for Markdown", (text) => {
  expect(isProse(text)).toBe(false);
});

it("draws prose as the Markdown renderer does", () => {
  const letter = fc.constantFrom(..."ab Z9,;.?%'\"()/ \néß日 1)".split(""));
  let proved = 0;
  const property = fc.property(
    fc.array(letter, { minLength: 1, maxLength: 60 }).map((letters) => letters.join("")),
    fc.integer({ min: 5, max: 80 }),
    (text, width) => {
      if (!isProse(text)) return;
      proved += 1;
      expect(wrap(text, width)).toEqual(parsed(text, width));
    },
  );
  fc.assert(property, { numRuns: 4_000 });
  expect(proved).toBeGreaterThan(100);
  expect(isProse("text 99998 of a long conversation")).toBe(true);
});
