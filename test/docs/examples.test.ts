/** Runs the examples of the docs in a folder of their own, as a reader would: with and without coding-agent CLIs. */
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { anchorsOf, examplesOf, filesOf, matches } from "../helpers/doc-examples.ts";
import { installFakeClis } from "../helpers/fake-clis.ts";
import { diskDir } from "../helpers/temp-dir.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** The pages for users, relative to `docs`. */
async function guides(): Promise<string[]> {
  const names = await Promise.all(
    ["", "tutorials"].map(async (folder) =>
      (await readdir(join(root, "docs", folder))).map((name) => join(folder, name)),
    ),
  );
  return names.flat().filter((name) => name.endsWith(".md"));
}

async function pages(): Promise<string[]> {
  const top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md", "GLOSSARY.md", "CHANGELOG.md"];
  return [...top, ...(await guides()).map((name) => join("docs", name))];
}

type Machine = "without a coding CLI" | "with every coding CLI";

/** A project, a home and a PATH with nothing but `aegis`, the CLIs of the machine and the system's own tools. */
async function prepare(machine: Machine): Promise<{ cwd: string; env: Record<string, string> }> {
  const dir = await diskDir();
  const [bin, cwd] = [join(dir, "bin"), join(dir, "project")];
  await mkdir(bin);
  await mkdir(cwd);
  await symlink(join(root, "dist", "cli.js"), join(bin, "aegis"));
  if (machine === "with every coding CLI") await installFakeClis(bin);
  const env = { PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, HOME: dir, NO_COLOR: "1" };
  onTestFinished(async () => {
    await run("aegis", ["down", "--force"], { cwd, env }).catch(() => {});
  });
  return { cwd, env };
}

describe.each(await pages())("%s", async (page) => {
  const examples = examplesOf(await readFile(join(root, page), "utf8"));

  const runs = async (machine: Machine) => {
    const { cwd, env } = await prepare(machine);
    for (const { path, text } of filesOf(await readFile(join(root, page), "utf8"))) {
      await mkdir(dirname(join(cwd, path)), { recursive: true });
      await writeFile(join(cwd, path), text);
    }
    for (const { line, command, expected } of examples) {
      const where = `${basename(page)}:${line} ${command}`;
      const { stdout } = await run("bash", ["-c", command], { cwd, env }).catch((error: unknown) => {
        throw new Error(`${where} failed`, { cause: error });
      });
      expect(matches(stdout, expected), `${where} printed:\n${stdout}`).toBe(true);
    }
  };

  const options = page === "README.md" ? {} : ({ tags: "slow" } as const);
  if (examples.length > 0) {
    it("says what the commands print without a coding CLI", options, () => runs("without a coding CLI"));
    it("says what the commands print with every coding CLI", options, () => runs("with every coding CLI"));
  }

  it("links only to what exists", async () => {
    const text = await readFile(join(root, page), "utf8");
    for (const [, target = "", anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const file = target === "" ? page : join(dirname(page), target);
      const linked = await readFile(join(root, file), "utf8");
      if (anchor !== undefined) expect(anchorsOf(linked), `${page} links to ${file}`).toContain(anchor);
    }
  });
});

it("lists every page in the index", async () => {
  const index = await readFile(join(root, "docs", "README.md"), "utf8");
  for (const name of await guides()) if (name !== "README.md") expect(index).toContain(`](${name})`);
});
