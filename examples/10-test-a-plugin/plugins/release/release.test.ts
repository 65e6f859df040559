import assert from "node:assert/strict";
import { test } from "node:test";
import { callCommand, callTool, fakeWorkflowContext, runWorkflow } from "aegis/testing";
import { next_version, release, ship } from "./release.ts";

test("the tool counts on, and refuses what is no text", async () => {
  assert.equal(await callTool(next_version, { version: "1.4.2" }), "1.5.0");
  await assert.rejects(callTool(next_version, { version: 1 }), TypeError);
});

test("the command prompts the agent", async () => {
  assert.deepEqual(await callCommand(ship, "1.5.0"), { prompt: "Prepare the release 1.5.0." });
});

test("the workflow publishes after a person agreed", async () => {
  const context = fakeWorkflowContext({ bash: () => "", askHuman: () => "yes" });
  assert.equal(await runWorkflow(release, context), "released");
  assert.deepEqual(context.calls.at(-1), { method: "bash", args: ["npm publish"] });
});

test("the workflow stops at uncommitted changes", async () => {
  const context = fakeWorkflowContext({ bash: () => " M README.md" });
  await assert.rejects(runWorkflow(release, context), /uncommitted changes/);
  assert.equal(context.calls.length, 1);
});
