/** Workflows as an agent uses them. */

import type { RunId } from "@aegis/contract/ids.ts";
import { workflow, z } from "@aegis/plugin-api/index.ts";
import { completed, said, type TestTurn, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

it("starts a run once however often the call is repeated, and brings the result back as one message", async () => {
  const answers: string[] = [];
  const call = async (turn: TestTurn, name: string, input: unknown) => {
    const signal = AbortSignal.timeout(scaled(5_000));
    return (await turn.spec.host.tools.call(name, input, { key: "the same", signal })).output;
  };
  const driver = testDriver(async function* (turn) {
    if (turn.prompt.text.startsWith("start")) {
      for (let i = 0; i < 2; i++)
        answers.push(await call(turn, "aegis_run_workflow", { name: "count", kwargs: { to: 3 } }));
      answers.push(await call(turn, "aegis_run_workflow", { name: "cuont" }));
      answers.push(await call(turn, "aegis_run_workflow", { name: "count", kwargs: { to: "three" } }));
      answers.push(await call(turn, "aegis_workflow_status", { workflow_id: "run_nobody" }));
    }
    yield said("ok");
    yield completed;
  });
  const runtime = await testRuntime(await tempDir(), driver);
  await runtime.workflows.launch();
  const input = z.object({ to: z.number().int() });
  const count = workflow("count", { input }, async (engine, { to }) => ({
    counted: await engine.step("count", () => to),
  }));
  runtime.workflows.add(count, "a test");
  const { session } = await runtime.sessions.create({ prompt: "start it" });
  await waitUntil("the result arrives", () => driver.turns.length === 2);
  const [first, second, unknown, wrong, nobody] = answers.map((text) =>
    text.startsWith("{") ? JSON.parse(text) : text,
  );
  expect(first).toEqual({
    workflow_id: expect.stringMatching(/^run_/),
    workflow_run_id: first.workflow_id,
    status: "running",
  });
  expect(second).toEqual(first);
  expect(unknown).toContain('no workflow "cuont" (did you mean "count"?)');
  expect(wrong).toContain("wrong arguments for count: to");
  expect(nobody).toEqual({ workflow_id: "run_nobody", status: "unknown" });
  const [header, body] = driver.turns[1]?.prompt.text.split("\n") ?? [];
  expect(header).toMatch(new RegExp(`^> from workflow:count · task#${first.workflow_id} · ok · \\d{4}-`));
  expect(body).toBe('{"counted":3}');
  const run = await runtime.workflows.runs.view(first.workflow_id as RunId);
  expect(run).toMatchObject({ host: session.id, host_handle: session.handle, status: "ok", hops: 1 });
});
