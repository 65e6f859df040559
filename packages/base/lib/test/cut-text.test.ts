import { expect, it } from "vitest";
import { cutText, cutValue, sizeOf } from "../src/cut-text.ts";

it("keeps what fits, and says what it cut and where the rest is", () => {
  expect(cutText("12345", 5)).toBe("12345");
  expect(cutText("123456789", 5)).toBe("12345\n[4 more characters were cut]");
  expect(cutText("123456789", 5, { kept: "a/b.txt", total: 100 })).toBe(
    "12345\n[95 more characters were cut; the whole text is in a/b.txt]",
  );
  expect(cutText("12345", 0)).toBe("[5 more characters were cut]");
});

it("does not cut a character in two", () => {
  expect(cutText("1234🦊789", 5).isWellFormed()).toBe(true);
});

it("cuts the long texts of a value and leaves the short ones", () => {
  const value = { name: "write", body: "x".repeat(500_000), lines: ["a", "y".repeat(200_000)] };
  const cut = cutValue(value, 200_000) as typeof value;
  expect(sizeOf(cut)).toBeLessThan(200_000);
  expect(cut.name).toBe("write");
  expect(cut.lines[0]).toBe("a");
  expect(cut.body).toContain("more characters were cut");
  expect(cutValue({ a: 1 }, 200_000)).toEqual({ a: 1 });
});

it("gives the beginning of the JSON of a value with very many parts", () => {
  const cut = cutValue(
    Array.from({ length: 100_000 }, (_, n) => ({ n })),
    10_000,
  );
  expect(cut).toMatch(/^\[\{"n":0\}[\s\S]*more characters were cut\]$/);
});
