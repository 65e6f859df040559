/** The launcher: under an old Node the command runs with a newer one, or says in one line how to get it. */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { findNode, nodePackages, relaunch } from "../src/relaunch.ts";

/** A program that answers `--version` as that Node would. */
async function fakeNode(path: string, version: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho v${version}\n`);
  await chmod(path, 0o755);
  return path;
}

/** No installed Node of this machine is new enough for this. */
const oldest = 900;

const ownPackage = nodePackages[`${process.platform}-${process.arch}`] ?? "";

it("is brought for each system by an optional dependency, which npm installs without a script", async () => {
  const manifest = JSON.parse(await readFile(new URL("../../../../package.json", import.meta.url), "utf8"));
  expect(Object.keys(manifest.optionalDependencies).sort()).toEqual(Object.values(nodePackages).sort());
});

describe("finding a Node", () => {
  it("prefers the one that is named, then the package's own, then PATH, then version managers", async () => {
    const dir = await tempDir();
    const named = await fakeNode(join(dir, "named/node"), "901.0.0");
    const own = await fakeNode(join(dir, "pkg/node_modules", ownPackage, "bin/node"), "902.0.0");
    const onPath = await fakeNode(join(dir, "bin/node"), "903.0.0");
    const managed = await fakeNode(join(dir, "home/.nvm/versions/node/v904.1.0/bin/node"), "904.1.0");
    await fakeNode(join(dir, "home/.nvm/versions/node/v899.0.0/bin/node"), "899.0.0");
    const packageRoot = join(dir, "pkg");
    const empty = join(dir, "empty");
    const env = { HOME: join(dir, "home"), PATH: `${join(dir, "old")}:${join(dir, "bin")}` };
    expect(findNode({ env: { ...env, AEGIS_NODE: named }, oldest, packageRoot })).toBe(named);
    expect(findNode({ env, oldest, packageRoot })).toBe(own);
    expect(findNode({ env, oldest, packageRoot: empty })).toBe(onPath);
    expect(findNode({ env: { ...env, PATH: "" }, oldest, packageRoot: empty })).toBe(managed);
    expect(findNode({ env: { ...env, PATH: "" }, oldest: 905, packageRoot: empty })).toBeNull();
  });

  it("skips one that is too old, and every relative folder of PATH", async () => {
    const dir = await tempDir();
    await fakeNode(join(dir, "old/node"), "20.0.0");
    const env = { HOME: dir, PATH: `${join(dir, "old")}:.:node_modules/.bin` };
    expect(findNode({ env, oldest, packageRoot: dir })).toBeNull();
  });
});

describe("running under another Node", () => {
  const output = { out: "", err: "" };
  const options = {
    version: "20.1.0",
    stdout(text: string) {
      output.out += text;
    },
    stderr(text: string) {
      output.err += text;
    },
  };

  it("passes arguments and environment on and gives the exit code", async () => {
    const dir = await tempDir();
    const entry = join(dir, "entry.mjs");
    const seen = join(dir, "seen.json");
    await writeFile(
      entry,
      `import { writeFileSync } from "node:fs";
       writeFileSync(process.env.SEEN, JSON.stringify(process.argv.slice(2)));
       process.exitCode = 7;`,
    );
    const env = { AEGIS_NODE: process.execPath, SEEN: seen };
    const code = await relaunch({ ...options, argv: ["ps", "a b"], env, oldest: 24, entry, packageRoot: dir });
    expect(code).toBe(7);
    expect(JSON.parse(await readFile(seen, "utf8"))).toEqual(["ps", "a b"]);
  });

  it("says in one line how to get it when there is none, and as JSON for scripts", async () => {
    const dir = await tempDir();
    const code = await relaunch({ ...options, argv: ["ps", "--json"], env: {}, oldest, entry: "", packageRoot: dir });
    expect(code).toBe(2);
    expect(output.err.trim().split("\n")).toHaveLength(1);
    expect(output.err).toContain("Node 20.1.0 is too old: expected 900 or newer; the package ");
    expect(output.err).toContain("install Aegis again without --omit=optional");
    expect(JSON.parse(output.out)).toMatchObject({
      error: { code: "unavailable", hint: expect.stringContaining("nvm") },
    });
  });
});
