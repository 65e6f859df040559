import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { DeclaredParts } from "../src/declared.ts";
import type { Contributions } from "../src/protocol.ts";

const nothing: Contributions = {
  hooks: [],
  tools: [],
  workflows: [],
  skills: [],
  agents: [],
  commands: [],
  reducers: [],
  channels: [],
  notes: [],
  faults: [],
};
const skill = (content: string): Contributions => ({ ...nothing, skills: [{ name: "s", description: "d", content }] });

it("finds a record only for the inputs that it was made from", async () => {
  const dir = join(await tempDir(), "declared");
  const parts = new DeclaredParts({ dir, log: silentLogger });
  expect(await parts.find("/p/one", "a")).toBeNull();
  await parts.keep("/p/one", "a", skill("first"), []);
  await parts.keep("/p/one", "b", skill("second"), []);
  expect(await parts.find("/p/one", "a")).toBeNull();
  expect(await parts.find("/p/one", "b")).toEqual(skill("second"));
  expect(await parts.find("/p/two", "b")).toBeNull();
  expect(await readdir(dir)).toHaveLength(1);
});

it("does not record declarations that contain a secret", async () => {
  const dir = join(await tempDir(), "declared");
  const parts = new DeclaredParts({ dir, log: silentLogger });
  await parts.keep("/p", "a", skill('the key is x"y'), ['x"y']);
  expect(await parts.find("/p", "a")).toBeNull();
});

it("ignores a damaged record", async () => {
  const dir = await tempDir();
  const parts = new DeclaredParts({ dir, log: silentLogger });
  await parts.keep("/p", "a", nothing, []);
  const [name = ""] = await readdir(dir);
  const text = await readFile(join(dir, name), "utf8");
  for (const damaged of ["", text.slice(0, -3), "null", '{"inputs":"a","contributions":{"hooks":1}}']) {
    await writeFile(join(dir, name), damaged);
    expect(await parts.find("/p", "a")).toBeNull();
  }
});
