import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { type Made, outputOf } from "@aegis/test/helpers/projects/new-plugin.ts";
import { toolUser } from "@aegis/test/helpers/projects/tool-user.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { expect, it } from "vitest";

it("makes plugins of each kind that type-check, pass their test and load, with nothing installed", {
  tags: "slow",
  timeout: scaled(120_000),
}, async () => {
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
  // Its author is trusted with its changes.
  const { place } = await json<Made>("plugin", "new", "later");
  await writeFile(
    join(place, "tools.ts"),
    (await readFile(join(place, "tools.ts"), "utf8")).replace("words }", "n: words }"),
  );
  const { plugins } = await json<{ plugins: { name: string; status: string }[] }>("plugin", "reload", "later");
  expect(plugins).toMatchObject([{ name: "later", status: "loaded" }]);
  expect((await aegis("run", "use later_count one")).stdout).toContain('{"n":1}');
});

it("has types that find mistakes", async () => {
  const { json } = await aegisProject();
  const { place } = await json<Made>("plugin", "new", "typed", "--kind", "full");
  await writeFile(
    join(place, "wrong.ts"),
    `import { hook, tool, z } from "aegis";
export const a = hook("pre_turn", (context) => ({ prependSistem: context.userMessage }));
export const b = tool({ description: "x", permission: "read", input: z.object({ n: z.number() }) }, ({ n }) => n.toUpperCase());
`,
  );
  const { ok, output } = await outputOf("tsc", ["-p", "."], place);
  expect(ok).toBe(false);
  expect(output).toContain("wrong.ts(2,");
  expect(output).toMatch(/wrong\.ts\(3,.*toUpperCase/);
});
