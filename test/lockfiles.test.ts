import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

type Lock = { packages: Record<string, { optionalDependencies?: Record<string, string> }> };

// A registry may lack the packages of other platforms; `npm ci` refuses a lockfile without them.
it.each(["package-lock.json", "test/live/package-lock.json"])("%s has every optional package", async (file) => {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  const { packages } = JSON.parse(await readFile(path, "utf8")) as Lock;
  const locked = new Set(Object.keys(packages).map((key) => key.replace(/^.*node_modules\//, "")));
  const optional = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  const missing = optional.filter((name) => !locked.has(name));
  expect(missing, `run node scripts/complete-lock.mjs ${file}`).toEqual([]);
});
