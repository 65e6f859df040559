/** The entries of the package, as Node resolves them for a program that has it installed. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { installPackage, packageFolder, runModule } from "../helpers/consumer.ts";
import { tempDir } from "../helpers/temp-dir.ts";

type Manifest = { exports: Record<string, string | Record<string, string>> };
const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as Manifest;

async function namesOf(specifiers: readonly string[]): Promise<Record<string, string[]>> {
  const folder = await tempDir();
  await installPackage(folder);
  const code = `const found = {};
for (const specifier of ${JSON.stringify(specifiers)}) found[specifier] = Object.keys(await import(specifier)).sort();
process.stdout.write(JSON.stringify(found));
`;
  return JSON.parse(await runModule(folder, code)) as Record<string, string[]>;
}

it("offers four entries", async () => {
  const paths = Object.keys(manifest.exports).filter((path) => path !== "./package.json");
  const specifiers = paths.map((path) => join("aegis", path));
  expect(specifiers).toEqual(["aegis", "aegis/testing", "aegis/client", "aegis/schema"]);
  const names = await namesOf(specifiers);
  const client = ["applyDelta", "connect", "createClient", "followEvents", "initialState", "reduce", "wait"];
  expect(names["aegis/client"]).toEqual(expect.arrayContaining(client));
  expect(names.aegis).toEqual(expect.arrayContaining(["hook", "tool", "workflow", "z"]));
  expect(names["aegis/testing"]).toEqual(expect.arrayContaining(["callTool", "fakeEngine", "fakeWorkflowContext"]));
  expect(names["aegis/schema"]).toEqual(expect.arrayContaining(["openApiDocument", "runIdSchema"]));
});

it("names the waits by what is awaited", async () => {
  const folder = await tempDir();
  await installPackage(folder);
  const code = 'import { wait } from "aegis/client";\nprocess.stdout.write(Object.keys(wait).sort().join(" "));\n';
  expect(await runModule(folder, code)).toBe("firing message run task");
});

it("describes the API without a daemon", async () => {
  const folder = await tempDir();
  await installPackage(folder);
  const code = `import { openApiDocument, routes } from "aegis/schema";
const { openapi, info, paths } = openApiDocument("9.9.9");
const described = Object.values(routes).every(({ method, path }) =>
  method.toLowerCase() in paths[path.replace(/:(\\w+)/g, "{$1}")]);
process.stdout.write(JSON.stringify([openapi, info.version, described]));
`;
  expect(JSON.parse(await runModule(folder, code))).toEqual(["3.1.0", "9.9.9", true]);
});

it("gives browsers a client with the same names that imports nothing of Node", async () => {
  const { "./client": client } = manifest.exports;
  if (typeof client !== "object" || client.browser === undefined) throw new Error("no condition for browsers");
  const imported = await importsOf(join(packageFolder, client.browser), new Map());
  expect([...imported.values()].flat()).toEqual([]);
  const [browser, node] = await Promise.all(
    [client.browser, client.default ?? ""].map(async (path) => Object.keys(await import(join(packageFolder, path)))),
  );
  expect(browser?.sort()).toEqual(node?.sort());
});

/** Files by path with what each imports that is no file of the package. */
async function importsOf(path: string, found: Map<string, string[]>): Promise<Map<string, string[]>> {
  if (found.has(path)) return found;
  const text = (await readFile(path, "utf8")).replace(/\/\*[\s\S]*?\*\//g, "");
  const targets = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g)].map(([, target = ""]) => target);
  found.set(
    path,
    targets.filter((target) => !target.startsWith(".")),
  );
  for (const target of targets.filter((one) => one.startsWith(".")))
    await importsOf(join(dirname(path), target), found);
  return found;
}
