// @module-tag slow
/** The public API is documented: every function with an example that compiles, and docs/reference says the same. */
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { readEntryPoints } from "../../scripts/reference/entries.ts";
import { referencePages } from "../../scripts/reference/pages.ts";
import { scaled } from "../helpers/slowness.ts";
import { tempDir } from "../helpers/temp-dir.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const entryPoints = readEntryPoints(root);
const named = entryPoints.flatMap(({ specifier, entries }) => entries.map((entry) => ({ specifier, ...entry })));
const callable = named.filter(({ kind }) => kind === "function" || kind === "class");

it("describes every function and class of the four entries, each with an example", () => {
  expect(callable.length).toBeGreaterThan(30);
  const lacking = callable.filter(({ description, examples }) => description === "" || examples.length === 0);
  expect(lacking.map(({ specifier, name }) => `${specifier}: ${name}`)).toEqual([]);
});

it("has examples that use what they document, by the public name", () => {
  const wrong = callable.filter(({ name, examples }) => {
    const [first = ""] = name.split(".");
    const imports = new RegExp(`import \\{[^}]*\\b${first}\\b[^}]*\\} from "aegis`);
    return !examples.some((example) => imports.test(example));
  });
  expect(wrong.map(({ specifier, name }) => `${specifier}: ${name}`)).toEqual([]);
});

it("has examples that compile", { timeout: scaled(120_000) }, async () => {
  const folder = await tempDir();
  const compilerOptions = { typeRoots: [join(root, "node_modules", "@types")], noUnusedLocals: false };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  for (const { specifier, name, examples } of callable) {
    const blocks = examples.flatMap((example) =>
      [...example.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code),
    );
    expect(blocks.length, name).toBeGreaterThan(0);
    const file = `${specifier}-${name}`.replace(/[^\w-]/g, "_");
    for (const [at, block] of blocks.entries()) await writeFile(join(folder, `${file}-${at}.ts`), block ?? "");
  }
  const tsc = join(root, "node_modules", ".bin", "tsc");
  await promisify(execFile)(tsc, ["-p", "."], { cwd: folder }).catch((error) => {
    throw new Error(`tsc: ${error.stdout}`);
  });
});

it("is committed as it is generated; otherwise run: npm run docs:reference", async () => {
  const folder = join(root, "docs", "reference");
  const committed: Record<string, string> = {};
  for (const file of await readdir(folder)) committed[file] = await readFile(join(folder, file), "utf8");
  expect(committed).toEqual(Object.fromEntries(referencePages(entryPoints)));
});
