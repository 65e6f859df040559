/** Each promise of the page on security names a test that exists. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/security.md"), "utf8");
const tests = ["test", "packages"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => `${folder}/${path}`),
);

/** The test files that a name means: a path, or the end of one. */
function found(name: string): string[] {
  return tests.filter((path) => path === name || path.endsWith(`/${name}`));
}

const names = new Set([
  ...(page.match(/[\w./-]+\.test\.ts/g) ?? []),
  ...[...page.matchAll(/`((?:behaviour|lib|packages)\/[\w/-]*\w)`/g)].map(([, name]) => `${name}.test.ts`),
]);

it("names only test files that exist, each without doubt", () => {
  expect(names.size).toBeGreaterThan(50);
  const wrong = [...names].filter((name) => found(name).length !== 1);
  expect(wrong.map((name) => `${name} means ${found(name).join(", ") || "no file"}`)).toEqual([]);
});

it("quotes only titles that the test file has", () => {
  const quoted = [
    ...[...page.matchAll(/`((?:behaviour|lib|packages)\/[\w/-]*\w)`: ([^|`]+?)(?: \||; `)/g)].map(
      ([, file, titles]) => [`${file}.test.ts`, ...(titles ?? "").split("; ")],
    ),
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

/** What a row of the table of rights is about: its first cell without the names of commands and tools. */
function rowName(text: string): string {
  return text
    .replace(/: `(?:aegis |aegis_|sessions_|agent`).*$/, "")
    .replaceAll("`", "")
    .trim();
}

it("gives each cell of the table of rights a test, and each such test a cell", () => {
  const table = page.split(/\n\n/).find((block) => block.startsWith("| what is started |")) ?? "";
  const cells = table
    .split("\n")
    .slice(2)
    .flatMap((line) => {
      const [, what = "", person = "–", agent = "–"] = line
        .split(" | ")
        .flatMap((part, at) => (at === 0 ? ["", part.slice(2)] : [part]));
      const name = rowName(what);
      return [
        ...(person.trim() === "–" ? [] : [`${name} · person`]),
        ...(agent.trim() === "–" ? [] : [`${name} · agent`]),
      ];
    });
  const declared = tests
    .filter((path) => /\/rights-cells[\w-]*\.test\.ts$/.test(path))
    .flatMap((path) => [
      ...readFileSync(join(root, path), "utf8").matchAll(/^cell\(\s*"([^"]+)",\s*"(person|agent)"/gm),
    ])
    .map(([, name, column]) => `${name} · ${column}`);
  expect(cells.length).toBeGreaterThan(25);
  expect([...declared].sort()).toEqual([...cells].sort());
});
