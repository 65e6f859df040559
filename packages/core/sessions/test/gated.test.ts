/** A conversation that is open when the first plugin comes that judges tool calls. */

import { completed, said, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";

it.each([
  ["a harness with a process of its own is started again, so that it asks", true, 2],
  ["a driver inside the daemon goes on: it asks the gate itself", false, 1],
])("%s", async (_title, mcp, opened) => {
  const gates: boolean[] = [];
  const driver = testDriver(
    async function* ({ spec }) {
      gates.push(spec.host.gated);
      yield said("done");
      yield completed;
    },
    { mcp },
  );
  const runtime = await testRuntime(await memoryDir(), driver);
  const { session } = await runtime.sessions.create({ prompt: "one" });
  await turnsEnded(runtime, 1);
  const declaration = { name: "judge", event: "pre_tool_use", priority: 0, timeoutMs: 1000, strict: false } as const;
  runtime.hooks.table.add({ plugin: "strict", order: 0, hooks: [declaration], run: async () => [] });
  for (const body of ["two", "three"]) {
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body });
  }
  await turnsEnded(runtime, 2);
  expect(gates[0]).toBe(false);
  expect(gates.at(-1)).toBe(true);
  expect(driver.opened).toBe(opened);
});
