import assert from "node:assert/strict";
import { test } from "node:test";
import { callCommand, callTool, fakeEngine, runWorkflow } from "aegis/testing";
import { next_version, release, ship } from "./release.ts";

test("the tool counts on, and refuses what is no text", async () => {
  assert.equal(await callTool(next_version, { version: "1.4.2" }), "1.5.0");
  await assert.rejects(callTool(next_version, { version: 1 }), TypeError);
});

test("the command prompts the agent", async () => {
  assert.deepEqual(await callCommand(ship, "1.5.0"), { prompt: "Prepare the release 1.5.0." });
});

test("the workflow publishes after a person agreed", async () => {
  const engine = fakeEngine({ bash: () => "", askHuman: () => "yes" });
  assert.equal(await runWorkflow(release, engine), "released");
  assert.deepEqual(engine.calls.at(-1), { method: "bash", args: ["npm publish"] });
});

test("the workflow stops at uncommitted changes", async () => {
  const engine = fakeEngine({ bash: () => " M README.md" });
  await assert.rejects(runWorkflow(release, engine), /uncommitted changes/);
  assert.equal(engine.calls.length, 1);
});
