/** The colours of the app reach the contrast of WCAG AA in both themes. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const tokens = readFileSync(new URL("../src/style/tokens.css", import.meta.url), "utf8");
const colours = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = "", light = "", dark = ""]) => [
    name,
    { light, dark },
  ]),
);

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const texts = ["text", "dim", "accent", "ok", "warn", "err"];
const syntax = ["syntax-key", "syntax-string", "syntax-number", "syntax-comment", "syntax-name"];
const pairs = [
  ...texts.flatMap((text) => ["bg", "panel", "band", "hover"].map((ground) => [text, ground, 4.5] as const)),
  ...syntax.map((text) => [text, "band", 4.5] as const),
  ...["text", "dim"].flatMap((text) =>
    ["add", "add-word", "del", "del-word"].map((ground) => [text, ground, 4.5] as const),
  ),
  ...syntax.flatMap((text) =>
    ["panel", "add", "add-word", "del", "del-word"].map((ground) => [text, ground, 4.5] as const),
  ),
  ...["1", "2", "3", "4", "5", "6", "7", "rest"].map((name) => [`series-${name}`, "panel", 3] as const),
  ["on-accent", "accent", 4.5] as const,
  ["on-accent", "warn", 4.5] as const,
  ...["bg", "panel"].map((ground) => ["edge", ground, 3] as const),
];

it.each(["light", "dark"] as const)("keeps the contrast of every pair in %s", (theme) => {
  const low = pairs.flatMap(([text, ground, least]) => {
    const [a, b] = [colours.get(text)?.[theme], colours.get(ground)?.[theme]];
    if (a === undefined || b === undefined) return [`${text} or ${ground} is no colour`];
    const ratio = contrast(a, b);
    return ratio < least ? [`${text} on ${ground}: ${ratio.toFixed(2)}`] : [];
  });
  expect(low).toEqual([]);
});
