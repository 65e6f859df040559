/** Workflows of plugins as their authors and users meet them on the command line, while files change under them. */
import { describe, expect, it } from "vitest";
import { head, withPlugin } from "../helpers/projects/flows.ts";
import { scaled } from "../helpers/slowness.ts";

describe("what is wrong with a workflow", { timeout: scaled(60_000) }, () => {
  it.each([
    ["not async", `${head}\nexport const a = workflow("a", (_engine) => 1);\n`, /flows\.ts:3: .*is not async/],
    [
      "without engine",
      `${head}\nexport const a = workflow("a", async () => 1);\n`,
      /flows\.ts:3: .*takes no parameter/,
    ],
    [
      "of the same name as one before",
      `${head}export const a = workflow("a", async (_e) => 1);\nexport const b = workflow("a", async (_e) => 2);\n`,
      /flows\.ts:3: .*there are two workflows "a"/,
    ],
    [
      "of the name of one that exists",
      `${head}\n\nexport const a = workflow("tdd_cycle", async (_engine) => 1);\n`,
      /flows\.ts:4: a workflow "tdd_cycle" exists already, from the catalog/,
    ],
  ])("is said with its line: %s", async (_, text, message) => {
    const project = await withPlugin(text);
    const list = await project.json<{ plugins: { status: string; reason: string }[] }>("plugin", "list");
    expect(list.plugins).toMatchObject([{ status: "failed", reason: expect.stringMatching(message) }]);
    expect((await project.aegis("plugin", "show", "flows")).stdout).toMatch(message);
  });
});
