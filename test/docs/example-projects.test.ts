// @module-tag slow
/** Runs each project of examples/ as its README says, with the built package installed, and compares what is printed. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { stopDaemon } from "../helpers/aegis.ts";
import { installPackage, packageFolder } from "../helpers/consumer.ts";
import { examplesOf, matches } from "../helpers/doc-examples.ts";
import { scaled } from "../helpers/slowness.ts";
import { tempDir } from "../helpers/temp-dir.ts";

const run = promisify(execFile);
const examples = join(packageFolder, "examples");
const names = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
/** A plugin and a project that needs Docker: plugins.test.ts and example-cluster.test.ts run them. */
const projects = names.filter((name) => name !== "todo-keeper" && name !== "cluster");

it("has a README for every example, and all of them in the list", () => {
  expect(projects.length).toBeGreaterThanOrEqual(8);
  const list = readFileSync(join(examples, "README.md"), "utf8");
  for (const name of names) expect(list).toContain(`(${name}/README.md)`);
});

it.each(projects)("%s does what its README says", { timeout: scaled(120_000) }, async (name) => {
  const dir = await tempDir();
  const [bin, project] = [join(dir, "bin"), join(dir, name)];
  await mkdir(bin);
  await symlink(join(packageFolder, "dist", "cli.js"), join(bin, "aegis"));
  await cp(join(examples, name), project, {
    recursive: true,
    filter: (path) => !path.includes("node_modules") && !path.includes(join(".aegis", "state")),
  });
  await installPackage(project);
  const env = { PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, HOME: dir, NO_COLOR: "1" };
  onTestFinished(() => stopDaemon(project));

  const commands = examplesOf(readFileSync(join(project, "README.md"), "utf8"));
  expect(commands.filter(({ expected }) => expected.some((line) => line !== "…"))).not.toEqual([]);
  for (const { line, command, expected } of commands) {
    const where = `examples/${name}/README.md:${line} ${command}`;
    const { stdout } = await run("bash", ["-c", command], { cwd: project, env }).catch((error: unknown) => {
      throw new Error(`${where} failed`, { cause: error });
    });
    expect(matches(stdout, expected), `${where} printed:\n${stdout}`).toBe(true);
  }
});
