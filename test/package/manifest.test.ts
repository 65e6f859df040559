/** The published manifest names what the built program imports, and nothing else: users install all of it. */
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageFolder } from "../helpers/consumer.ts";

type Manifest = {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as Manifest;
const imports = [
  /^(?:import|export)\b[^;"']*?\bfrom\s*["']([^"']+)["']/gm,
  /^import\s*["']([^"']+)["']/gm,
  /\bimport\(\s*["']([^"']+)["']\s*\)/g,
  /\brequire\(\s*["']([^"']+)["']\s*\)/g,
];

/** The packages that a built file imports. Its text also holds programs for plugins, which import `aegis`. */
function packagesOf(text: string): string[] {
  const specifiers = imports.flatMap((pattern) => [...text.matchAll(pattern)].map(([, specifier = ""]) => specifier));
  return specifiers
    .filter((specifier) => /^[@a-z]/.test(specifier) && !isBuiltin(specifier))
    .map((specifier) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"))
    .filter((name) => name !== "aegis");
}

it("names exactly the packages that dist imports", () => {
  const dist = join(packageFolder, "dist");
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".js") && !/^(?:types|web)\//.test(file),
  );
  const used = new Set(files.flatMap((file) => packagesOf(readFileSync(join(dist, file), "utf8"))));
  const published = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
  // Bundled, and published as well: the declarations of the package and the packages for models need it.
  const typesOnly = ["zod"];
  expect([...used, ...typesOnly].sort()).toEqual(published.sort());
});
