/** Each promise of the page on security names a test that exists. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/security.md"), "utf8");
const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts"))
  .map((path) => `test/${path}`);

/** The test files that a name means: a path, or the end of one. */
function found(name: string): string[] {
  return tests.filter((path) => path === name || path.endsWith(`/${name}`));
}

const names = new Set([
  ...(page.match(/[\w./-]+\.test\.ts/g) ?? []),
  ...[...page.matchAll(/`((?:behaviour|lib|packages)\/[\w/-]+)`/g)].map(([, name]) => `${name}.test.ts`),
]);

it("names only test files that exist, each without doubt", () => {
  expect(names.size).toBeGreaterThan(50);
  const wrong = [...names].filter((name) => found(name).length !== 1);
  expect(wrong.map((name) => `${name} means ${found(name).join(", ") || "no file"}`)).toEqual([]);
});

it("quotes only titles that the test file has", () => {
  const quoted = [
    ...[...page.matchAll(/`((?:behaviour|lib|packages)\/[\w/-]+)`: ([^|`]+?)(?: \||; `)/g)].map(([, file, titles]) => [
      `${file}.test.ts`,
      ...(titles ?? "").split("; "),
    ]),
    ...[...page.matchAll(/`([\w./-]+\.test\.ts)`, "([^"]+)"/g)].map(([, file, title]) => [file ?? "", title ?? ""]),
  ];
  expect(quoted.length).toBeGreaterThan(15);
  const missing = quoted.flatMap(([file = "", ...titles]) => {
    const text = found(file)
      .map((path) => readFileSync(join(root, path), "utf8"))
      .join("");
    return titles.filter((title) => !text.includes(title.trim())).map((title) => `${file}: ${title}`);
  });
  expect(missing).toEqual([]);
});

it("gives every row of its tables a test", () => {
  const tables = page.split(/\n\n/).filter((block) => /^\|.*\btest \|\n/.test(block));
  expect(tables.length).toBeGreaterThan(7);
  const rows = tables.flatMap((table) =>
    table
      .split("\n")
      .slice(2)
      .filter((row) => row.startsWith("|")),
  );
  const bare = rows.filter((row) => !/\.test\.ts|`(?:behaviour|lib|packages)\//.test(row.split("|").at(-2) ?? ""));
  expect(bare).toEqual([]);
});
