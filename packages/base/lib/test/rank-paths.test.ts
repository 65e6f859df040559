import { expect, it } from "vitest";
import { rankPaths } from "../src/rank-paths.ts";

it("puts names that begin with the text first, then paths that contain it, then characters in order", () => {
  const paths = ["deep/parts/x.ts", "src/Parser.ts", "p/a/r/s.txt", "docs/the-parser.md", "other.md"];
  expect(rankPaths(paths, "pars", 9)).toEqual([
    "src/Parser.ts",
    "docs/the-parser.md",
    "p/a/r/s.txt",
    "deep/parts/x.ts",
  ]);
  expect(rankPaths(paths, "", 2)).toEqual(["other.md", "p/a/r/s.txt"]);
  expect(rankPaths(paths, "zzz", 9)).toEqual([]);
});
