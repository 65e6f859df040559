/**
 * Lets editors, type checkers and test runners resolve the package `aegis` from a plugin folder without an install. It
 * writes an `aegis` package to `node_modules` that points to this installation. The daemon does not need it.
 */
import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AegisError } from "@aegis/contract/errors.ts";
import { packageRoot } from "@aegis/lib/assets.ts";
import { exists, isErrno } from "@aegis/lib/files.ts";
import { treeHash } from "@aegis/lib/safe-tree.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { isCache } from "@aegis/plugins/caches.ts";
import { apiEntries } from "@aegis/plugins/host/entries.ts";
import { agreeTo, listTrust, type TrustProject } from "../trust/agree.ts";

/** Marks a generated package, which may be overwritten. */
const mark = "points to the Aegis that made it";

/** Returns the package's folder. Throws `conflict` if the user installed another `aegis` there. */
export async function linkAegis(plugin: string): Promise<string> {
  const folder = join(plugin, "node_modules", "aegis");
  if (!(await mayWrite(folder)))
    throw new AegisError("conflict", `${folder} is an installed package, which serves as well; it was left alone`);
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(await filesOf())) await writeFile(join(folder, name), text);
  return folder;
}

/**
 * Like `linkAegis`, on a user's request: a trusted plugin of the project stays trusted, because Aegis added only its
 * own files. If anything else changed meanwhile, the plugin becomes untrusted.
 */
export async function linkTrusted(project: TrustProject, plugin: string): Promise<string> {
  const root = await realpath(project.root);
  const real = await realpath(plugin);
  const find = async () =>
    (await listTrust(project).catch(() => [])).find(
      ({ item }) => item.kind === "plugin" && resolve(root, item.file) === real,
    );
  const rest = () => treeHash(plugin, { ignore: (path) => path.startsWith("node_modules/aegis/") || isCache(path) });
  const before = await find();
  const content = before?.verdict.allowed === true ? await rest() : null;
  const folder = await linkAegis(plugin);
  const after = await find();
  if (content !== null && after?.verdict.allowed === false && (await rest()) === content)
    await agreeTo(project, [after.item]);
  return folder;
}

async function mayWrite(folder: string): Promise<boolean> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    return (
      typeof manifest === "object" && manifest !== null && "description" in manifest && manifest.description === mark
    );
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return !(await exists(folder));
    return false;
  }
}

async function filesOf(): Promise<Record<string, string>> {
  const { full, testing } = apiEntries();
  const types = await typeEntries();
  const exports = {
    ".": { types: "./index.d.ts", default: "./index.js" },
    "./testing": { types: "./testing.d.ts", default: "./testing.js" },
    "./node-test": { types: "./node-test.d.ts" },
  };
  const manifest = { name: "aegis", version: packageVersion(), description: mark, type: "module", exports };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "index.js": `export * from ${JSON.stringify(full)};\n`,
    "index.d.ts": `export * from ${JSON.stringify(types.api)};\n`,
    "testing.js": `export * from ${JSON.stringify(testing)};\n`,
    "testing.d.ts": `export * from ${JSON.stringify(types.testing)};\n`,
    "node-test.d.ts": nodeTestTypes,
  };
}

/** A checkout that was built only for running has no type declarations, only sources. */
async function typeEntries(): Promise<{ api: string; testing: string }> {
  const built = join(packageRoot(), "dist", "types", "plugin-api");
  const isSource = fileURLToPath(import.meta.url).endsWith(".ts");
  if (!isSource && (await exists(join(built, "index.d.ts"))))
    return { api: join(built, "index.js"), testing: join(built, "testing", "index.js") };
  const source = join(packageRoot(), "packages", "core", "plugin-api", "src");
  return { api: join(source, "index.ts"), testing: join(source, "testing", "index.ts") };
}

/** The types of Node's test modules that a first test needs, for folders without `@types/node`. */
const nodeTestTypes = `declare module "node:test" {
  export function test(name: string, body: () => void | Promise<void>): void;
  export function describe(name: string, body: () => void): void;
  export function it(name: string, body: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  type Matcher = RegExp | Error | object | ((error: unknown) => boolean);
  function assert(value: unknown, message?: string): asserts value;
  namespace assert {
    function ok(value: unknown, message?: string): asserts value;
    function equal(actual: unknown, expected: unknown, message?: string): void;
    function notEqual(actual: unknown, expected: unknown, message?: string): void;
    function deepEqual(actual: unknown, expected: unknown, message?: string): void;
    function match(text: string, pattern: RegExp, message?: string): void;
    function rejects(work: Promise<unknown> | (() => Promise<unknown>), matcher?: Matcher): Promise<void>;
    function throws(work: () => unknown, matcher?: Matcher): void;
  }
  export default assert;
}
`;
