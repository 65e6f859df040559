import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { toolUser } from "../behaviour/plugin-project.ts";
import { aegisProject } from "../helpers/aegis.ts";

const run = promisify(execFile);
const bin = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));

type Made = { place: string; files: string[]; found: boolean; status: string | null };

/** What it printed, whatever came of it. */
async function outputOf(command: string, args: string[], cwd: string): Promise<{ ok: boolean; output: string }> {
  const env = { PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, NO_COLOR: "1" };
  return run(command, args, { cwd, env }).then(
    ({ stdout }) => ({ ok: true, output: stdout }),
    (error: { stdout: string }) => ({ ok: false, output: error.stdout }),
  );
}

it("makes plugins of each kind that type-check, pass their test and load, with nothing installed", async () => {
  const { json, aegis } = await aegisProject(toolUser, { trusted: false });
  await aegis("trust", "--yes");
  await aegis("up");
  for (const kind of ["tool", "hook", "workflow", "full"]) {
    const { place, found, status } = await json<Made>("plugin", "new", `my-${kind}`, "--kind", kind);
    expect({ found, status }).toEqual({ found: true, status: "loaded" });
    expect(await outputOf("tsc", ["-p", "."], place)).toEqual({ ok: true, output: "" });
    const tested = await outputOf("node", ["--test"], place);
    expect(tested).toMatchObject({ ok: true, output: expect.stringContaining("fail 0") });
    expect((await aegis("plugin", "validate", place, "--load")).code).toBe(0);
  }
  const used = await aegis("run", "use my_tool_count one");
  expect(used.stdout).toContain('{"words":1}');
  const explained = (await aegis("run", "/my-full-explain hooks")).stdout;
  expect(explained).toContain("Explain hooks in three sentences.");
  expect(explained).toContain("Keep answers short.");
  expect((await aegis("workflow", "list")).stdout).toContain("my_workflow_review");
  // Whoever made it is trusted with its changes.
  const { place } = await json<Made>("plugin", "new", "later");
  await writeFile(
    join(place, "tools.ts"),
    (await readFile(join(place, "tools.ts"), "utf8")).replace("words }", "n: words }"),
  );
  const { plugins } = await json<{ plugins: { name: string; status: string }[] }>("plugin", "reload", "later");
  expect(plugins).toMatchObject([{ name: "later", status: "loaded" }]);
  expect((await aegis("run", "use later_count one")).stdout).toContain('{"n":1}');
}, 120_000);

it("has types that find mistakes", async () => {
  const { json } = await aegisProject();
  const { place } = await json<Made>("plugin", "new", "typed", "--kind", "full");
  await writeFile(
    join(place, "wrong.ts"),
    `import { hook, tool, z } from "aegis";
export const a = hook("pre_turn", (context) => ({ prependSistem: context.userMessage }));
export const b = tool({ description: "x", input: z.object({ n: z.number() }) }, ({ n }) => n.toUpperCase());
`,
  );
  const { ok, output } = await outputOf("tsc", ["-p", "."], place);
  expect(ok).toBe(false);
  expect(output).toContain("wrong.ts(2,");
  expect(output).toMatch(/wrong\.ts\(3,.*toUpperCase/);
});

it("writes over nothing, and says what is wrong with a name or a kind", async () => {
  const { aegis, root, env } = await aegisProject();
  const folder = join(root, ".aegis", "plugins");
  await mkdir(join(folder, "mine"), { recursive: true });
  await writeFile(join(folder, "mine", "keep.txt"), "kept");
  const taken = await aegis("plugin", "new", "mine");
  expect(taken.code).not.toBe(0);
  expect(taken.stderr).toMatch(/is there already, and nothing was written|has a plugin "mine" already/);
  expect(await readdir(folder)).toEqual(["mine"]);
  expect(await readdir(join(folder, "mine"))).toEqual(["keep.txt"]);
  expect((await aegis("plugin", "new", "../out")).stderr).toContain("expected lower-case letters");
  expect((await aegis("plugin", "new", "enabled")).stderr).toContain("choose another name");
  expect(await aegis("plugin", "new", "x", "--kind", "hok")).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('did you mean "hook"?') },
  });
  await mkdir(join(folder, "other"));
  await writeFile(join(folder, "other", "plugin.toml"), '[plugin]\nname = "named"\nversion = "1.0.0"\n');
  expect((await aegis("plugin", "new", "named")).stderr).toContain(
    'has a plugin "named" already: .aegis/plugins/other',
  );
  const elsewhere = await aegis("plugin", "new", "far", "--dir", "shelf");
  expect(elsewhere.stdout).toContain("aegis config plugin-dir add shelf");
  expect(await readFile(join(env.HOME ?? "", ".aegis", "trust.json"), "utf8")).not.toContain("far");
});

it("links a plugin to this Aegis, but leaves an installed package alone", async () => {
  const { aegis, root } = await aegisProject();
  const plugin = join(root, "p");
  await mkdir(join(plugin, "node_modules", "aegis"), { recursive: true });
  await writeFile(join(plugin, "node_modules", "aegis", "package.json"), '{ "name": "aegis" }');
  expect((await aegis("plugin", "link", "p")).stderr).toContain("it was left alone");
  const other = join(root, "q");
  await mkdir(other);
  await writeFile(
    join(other, "x.mjs"),
    'import { tool } from "aegis";\nimport { callTool } from "aegis/testing";\nprocess.stdout.write(await callTool(tool({ description: "x" }, () => "called")));\n',
  );
  for (let round = 0; round < 2; round++) expect((await aegis("plugin", "link", "q")).code).toBe(0);
  expect(await outputOf("node", ["x.mjs"], other)).toEqual({ ok: true, output: "called" });
});
