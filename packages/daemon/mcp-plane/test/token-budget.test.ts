/** Every tool the plane offers is read by the model at every turn: the list must stay small. */

import type { ToolSpec } from "@aegis/drivers/driver.ts";
import { completed, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";

/** Models cut JSON into pieces of about four characters. */
const charactersPerToken = 4;
const tokenBudget = 4_500;

it("the default tool list costs a turn little", async () => {
  const offered: ToolSpec[][] = [];
  const runtime = await testRuntime(
    await tempDir(),
    testDriver(async function* ({ spec }) {
      offered.push(await spec.host.tools.list());
      yield completed;
    }),
  );
  await runtime.sessions.create({ prompt: "which tools do you have?" });
  await turnsEnded(runtime, 1);
  const specs = offered[0] ?? [];
  const sizes = specs.map((spec) => ({ name: spec.name, tokens: JSON.stringify(spec).length / charactersPerToken }));
  const total = sizes.reduce((sum, { tokens }) => sum + tokens, 0);
  const families = ["aegis_meta", "aegis_group_spawn", "sessions_spawn", "agent", "load_skill", "skill_install"];
  expect(specs.map((spec) => spec.name)).toEqual(expect.arrayContaining(families));
  expect(total, JSON.stringify(sizes.sort((a, b) => b.tokens - a.tokens).slice(0, 5))).toBeLessThan(tokenBudget);
});
