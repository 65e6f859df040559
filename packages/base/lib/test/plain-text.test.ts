import fc from "fast-check";
import { expect, it } from "vitest";
import { plain, plainLine } from "../src/plain-text.ts";

const obeyed = /(?!\n)\p{Cc}/u;

it.each([
  ["a\u001b[2Jb", "ab"],
  ["a\u001b]0;pwned\u0007b", "ab"],
  ["a\u001b]52;c;cm0gLXJm\u001b\\b", "ab"],
  ["a\u009d0;pwned\u009cb", "ab"],
  ["a\u009b2Jb", "ab"],
  ["a\u001b_Gf=32;AAAA\u001b\\b", "ab"],
  ["a\u001bcb", "ab"],
  ["evil\rgood", "evil\ngood"],
  ["a\b\b\u0000\u0007\u007fb", "ab"],
  ["a\u202etxt.exe", "a<202E>txt.exe"],
  ["pass\u200bword", "pass<200B>word"],
  ["x\u{e0041}y", "x<E0041>y"],
  ["a\ud800b", "a\ufffdb"],
  [`e${"\u0301".repeat(50)}x`, `e${"\u0301".repeat(4)}x`],
  ["日本語 👩‍👩‍👧", "日本語 👩‍👩‍👧"],
  ["a\tb", "a    b"],
])("shows %j as text", (hostile, shown) => {
  expect(plain(hostile)).toBe(shown);
});

it("leaves no control character in any text", () => {
  const hostile = fc.string({
    unit: fc.constantFrom("\u001b", "[", "]", "0", ";", "\u0007", "\\", "\u009b", "\u0090", "m", "\n", "x", "\u202e"),
  });
  fc.assert(
    fc.property(hostile, (text) => {
      expect(plain(text)).not.toMatch(obeyed);
    }),
  );
});

it("reads only the beginning of a long line", () => {
  expect(plainLine(`a  b\n${"x".repeat(1_000_000)}`).length).toBeLessThan(2_001);
});
