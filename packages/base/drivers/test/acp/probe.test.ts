/** Finding an ACP agent on this machine. */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, test } from "vitest";
import { createAcpDriver } from "../../src/acp/driver.ts";
import type { AcpRecipe } from "../../src/acp/recipe.ts";
import { custom } from "../../src/acp/recipes/custom.ts";
import { gemini } from "../../src/acp/recipes/gemini.ts";
import { opencode } from "../../src/acp/recipes/opencode.ts";

async function probe(recipe: AcpRecipe, script: string | null) {
  const folder = await tempDir();
  const program = join(folder, recipe.program.command);
  if (script !== null) {
    await writeFile(program, `#!/bin/sh\n${script}\n`);
    await chmod(program, 0o755);
  }
  const children = { ledgerFile: join(folder, "children.jsonl"), owner: folder, clock: systemClock, log: silentLogger };
  const deps = { env: { PATH: folder }, processes: createProcesses(children), clock: systemClock, log: silentLogger };
  return { program, answer: await createAcpDriver(deps, recipe).probe(AbortSignal.timeout(scaled(10_000))) };
}

describe("probing", () => {
  test("finds the program and its version", async () => {
    for (const recipe of [gemini, opencode]) {
      const { program, answer } = await probe(recipe, "echo 1.18.33");
      expect(answer).toMatchObject({ status: "ready", version: "1.18.33", path: program, fix: null });
    }
  });

  test("says how to install what is missing", async () => {
    const { answer } = await probe(gemini, null);
    expect(answer).toMatchObject({ status: "missing", fix: expect.stringContaining(gemini.program.install) });
  });

  test("says what is broken", async () => {
    const { answer } = await probe(gemini, "echo no such library >&2; exit 1");
    expect(answer).toMatchObject({ status: "broken", detail: expect.stringContaining("no such library") });
  });

  test("of any ACP agent has nothing to look for", async () => {
    expect((await probe(custom, null)).answer).toMatchObject({ status: "ready" });
  });
});
