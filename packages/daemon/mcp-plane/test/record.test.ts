/** What is recorded of a call when it is answered. */

import type { ToolOutcome } from "@aegis/drivers/driver.ts";
import { completed, eventsOfType, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";

it("a call that changes something is recorded before its answer, one that looks soon after", async () => {
  const recorded: string[][] = [];
  const outcomes: ToolOutcome[] = [];
  const runtime = await testRuntime(
    await tempDir(),
    testDriver(async function* ({ spec, signal }) {
      if (recorded.length > 0) return yield completed;
      for (const [tool, input] of [
        ["aegis_list_agents", {}],
        ["aegis_handoff", { target_handle: "nobody-there", context: "x".repeat(5_000) }],
      ] as const) {
        outcomes.push(await spec.host.tools.call(tool, input, { key: tool, signal }));
        recorded.push((await eventsOfType(runtime.store, "tool.called")).map(({ data }) => data.tool));
      }
      yield completed;
    }),
  );
  await runtime.sessions.create({ prompt: "go" });
  await turnsEnded(runtime, 1);
  // What only looked is written with the first call that must be.
  expect(recorded).toEqual([[], ["aegis_list_agents", "aegis_handoff"]]);
  expect(outcomes.map(({ is_error }) => is_error)).toEqual([false, false]);
  const [, handoff] = await eventsOfType(runtime.store, "tool.called");
  expect(handoff?.data.input.length).toBeLessThan(2_100);
});
