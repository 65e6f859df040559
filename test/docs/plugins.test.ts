/** What the page about plugins and the example show is loaded, type-checked, tested and called. */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { PluginDetail } from "@aegis/contract/plugin.ts";
import { expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { filesOf } from "../helpers/doc-examples.ts";
import { toolUser } from "../helpers/projects/tool-user.ts";
import { scaled } from "../helpers/slowness.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

async function plugin({ json }: AegisProject, name: string): Promise<PluginDetail> {
  return (await json<{ plugin: PluginDetail }>("plugin", "show", name)).plugin;
}

/** Fails with what the tests printed. */
async function ownTests(dir: string): Promise<void> {
  await run(process.execPath, ["--test"], { cwd: dir, env: { PATH: process.env.PATH } }).catch((error) => {
    throw new Error(`the tests in ${dir} failed:\n${error.stdout}`);
  });
}

it("loads, checks and tests the code of docs/plugins.md and docs/commands.md", {
  tags: "slow",
  timeout: scaled(120_000),
}, async () => {
  const pages = await Promise.all(
    ["plugins.md", "commands.md"].map((page) => readFile(join(root, "docs", page), "utf8")),
  );
  const files = pages.flatMap(filesOf);
  expect(files.length).toBeGreaterThan(8);
  const project = await aegisProject({
    ...toolUser,
    ...Object.fromEntries(files.map(({ path, text }) => [path, text])),
  });
  const house = join(project.root, ".aegis", "plugins", "house");
  expect((await project.aegis("plugin", "link", house)).code).toBe(0);
  await ownTests(house);
  const types = join(root, "node_modules", "@types");
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { typeRoots: [types], paths: {}, incremental: false, tsBuildInfoFile: null },
    include: ["*.ts"],
  };
  await writeFile(join(house, "package.json"), '{ "type": "module" }');
  await writeFile(join(house, "tsconfig.json"), JSON.stringify(config));
  await run(join(root, "node_modules", ".bin", "tsc"), ["-p", "."], { cwd: house }).catch((error) => {
    throw new Error(`tsc: ${error.stdout}`);
  });
  const { status, reason, brings, diagnostics, settings } = await plugin(project, "house");
  expect({ status, reason, diagnostics }).toEqual({ status: "loaded", reason: null, diagnostics: [] });
  expect(brings).toMatchObject({
    hooks: [{ name: "house-rules" }, { name: "careful" }, { name: "diary" }],
    tools: [{ name: "house_kitchen" }, { name: "house_cellar" }, { name: "house_greet" }],
    workflows: [{ name: "house_tidy" }],
    agents: ["butler"],
    skills: ["polish-silver"],
    commands: [{ name: "bell" }],
    reducers: ["longest"],
  });
  expect(settings).toMatchObject([{ key: "greeting", value: "Welcome" }, { key: "api_key_env" }]);
  expect((await project.aegis("run", "use house_greet Ada")).stdout).toContain("Welcome, Ada!");
  expect((await project.aegis("run", "use clocks_now Rome")).stdout).toContain('{"zone":"UTC","noon":true}');
  expect((await project.aegis("run", "/bell tea")).stdout).toContain("The bell rang: tea");
  const lucky = await plugin(project, "chance");
  expect(lucky).toMatchObject({ status: "loaded", brings: { commands: [{ name: "lucky" }, { name: "explain" }] } });
});

it("runs the example", { tags: "slow", timeout: scaled(120_000) }, async () => {
  const project = await aegisProject(toolUser);
  const dir = join(project.root, ".aegis", "plugins", "todo-keeper");
  await mkdir(dirname(dir), { recursive: true });
  await cp(join(root, "examples", "todo-keeper"), dir, { recursive: true });
  await project.aegis("plugin", "link", dir);
  await ownTests(dir);
  expect((await project.aegis("run", "use todo_add sweep")).stdout).toContain("1. sweep");
  expect((await project.aegis("run", "/todos add cook")).stdout).toBe("2. cook\n");
  expect((await project.aegis("run", "hello")).stdout).toContain("Still to do in this project:\n1. sweep\n2. cook");
  expect((await project.aegis("run", "/todos do 1")).stdout).toContain("then call todo_done with 1: sweep");
  expect((await project.aegis("run", "use todo_done 1")).stdout).toContain("2. cook");
  expect((await project.aegis("run", "/todos")).stdout).toBe("2. cook\n");
});
