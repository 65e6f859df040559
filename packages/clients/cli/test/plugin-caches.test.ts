/** What is written into a plugin's folder by Aegis or by the plugin's own programs does not make it untrusted. */
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";

const files = {
  ".aegis.yaml":
    "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml, permission: full }\n",
  "playbook.yaml":
    "rules:\n  - name: use\n    when: always\n    steps: [{ tool: tidy, input: {}, save: out }, { say: '{out}' }]\n",
  ".aegis/plugins/tidy/plugin.json": JSON.stringify({
    name: "tidy",
    version: "1.0.0",
    tools: [{ name: "tidy", description: "d", command: "sh", args: ["tidy.sh"], permission: "read" }],
  }),
  ".aegis/plugins/tidy/tidy.sh": [
    'planted=$(ls __pycache__ 2>/dev/null | tr "\\n" " ")',
    "mkdir -p __pycache__ .pytest_cache && echo x > __pycache__/m.cpython-311.pyc && echo x > .pytest_cache/x",
    'echo kept > "$PLUGIN_DATA_DIR/kept.txt"',
    'echo "{\\"planted\\": \\"$planted\\", \\"python\\": \\"$PYTHONPYCACHEPREFIX\\"}"',
  ].join("\n"),
};

it("caches of a program are no part of its plugin, and planted bytecode is gone before it starts", {
  tags: "slow",
}, async () => {
  const { aegis, json, root, env } = await aegisProject(files, { trusted: false });
  const status = async () =>
    (await json<{ plugins: { status: string }[] }>("plugin", "reload")).plugins.map((plugin) => plugin.status);
  expect((await aegis("trust", "--yes")).code).toBe(0);
  const folder = join(root, ".aegis/plugins/tidy");
  await mkdir(join(folder, "__pycache__"));
  await writeFile(join(folder, "__pycache__/evil.cpython-311.pyc"), "evil");
  const first = await aegis("run", "go");
  expect(first.stdout).toContain('"planted":""');
  expect(first.stdout).toContain(`"python":"${join(env.HOME ?? "", ".aegis", "cache")}`);
  expect(existsSync(join(folder, "__pycache__/m.cpython-311.pyc"))).toBe(true);
  expect(await status()).toEqual(["loaded"]);
  const data = join(root, ".aegis/state/plugins/tidy");
  expect(await readFile(join(data, "kept.txt"), "utf8")).toBe("kept\n");
  expect((await stat(data)).mode & 0o777).toBe(0o700);
  // Anything that could be loaded still counts.
  await writeFile(join(folder, "__pycache__/evil.py"), "evil");
  expect(await status()).toEqual(["untrusted"]);
});

it("`plugin link` leaves a trusted plugin trusted, and an untrusted one untrusted", { tags: "slow" }, async () => {
  const { aegis, json, root } = await aegisProject(files, { trusted: false });
  const state = async () =>
    (await json<{ items: { name: string; state: string }[] }>("trust", "--list")).items.find(
      ({ name }) => name === "tidy",
    )?.state;
  expect((await aegis("plugin", "link", ".aegis/plugins/tidy")).code).toBe(0);
  expect(await state()).toBe("untrusted");
  expect((await aegis("trust", "--yes")).code).toBe(0);
  expect((await aegis("plugin", "link", ".aegis/plugins/tidy")).code).toBe(0);
  expect(await state()).toBe("trusted");
  const other = await aegisProject(files, { trusted: false });
  expect((await other.aegis("trust", "--yes")).code).toBe(0);
  expect((await other.aegis("plugin", "link", ".aegis/plugins/tidy")).code).toBe(0);
  const items = (await other.json<{ items: { name: string; state: string }[] }>("trust", "--list")).items;
  expect(items.find(({ name }) => name === "tidy")?.state).toBe("trusted");
  await writeFile(join(root, ".aegis/plugins/tidy/node_modules/aegis/index.js"), "evil");
  expect(await state()).toBe("changed");
});

it("a tool without a declared permission, program or code, is for agents with full rights only", {
  tags: "slow",
}, async () => {
  const undeclared = files[".aegis/plugins/tidy/plugin.json"].replace(',"permission":"read"', "");
  const config = files[".aegis.yaml"].replace("full", "write");
  const { aegis } = await aegisProject({
    ...files,
    ".aegis.yaml": config,
    "playbook.yaml": files["playbook.yaml"].replace(
      "rules:\n",
      "rules:\n  - { name: code, when: '/code/', steps: [{ tool: tidy_code, input: {}, save: out }, { say: '{out}' }] }\n",
    ),
    ".aegis/plugins/tidy/plugin.json": undeclared,
    ".aegis/plugins/tidy/main.js":
      'import { tool } from "aegis";\nexport const tidy_code = tool({ description: "d", readOnly: true }, () => "ran");\n',
  });
  for (const prompt of ["go", "use the code"])
    expect((await aegis("run", prompt)).stdout).toContain("its permission is write, the tool needs full");
  const said = (await aegis("plugin", "validate", "--load", ".aegis/plugins/tidy")).stderr;
  for (const tool of ["tidy", "tidy_code"]) expect(said).toContain(`the tool "${tool}" declares no permission`);
});
