import { fileURLToPath } from "node:url";
import { readManifest } from "@aegis/plugins/manifest.ts";
import { expect, it } from "vitest";
import { capabilitiesOf } from "../../src/plugin/capabilities.ts";

it("tells from its text what a plugin brings, without running it", async () => {
  const dir = fileURLToPath(new URL("../../../../../plugins/memory-system", import.meta.url));
  const { manifest } = await readManifest(dir);
  if (manifest === null) throw new Error("no manifest");
  const found = await capabilitiesOf(dir, manifest);
  expect(found.tools).toEqual(expect.arrayContaining(["memory_add", "memory_remove", "memory_replace"]));
  expect(found.agents).toEqual(["dreamer"]);
  expect(found.commands).toEqual(["memory"]);
  expect(found.workflows).toEqual(["dream"]);
  expect(found.hooks).toContain("pre_turn");
  expect(found.uses).toContain("files");
});
