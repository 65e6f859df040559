import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { callCommand, callHook, callTool } from "aegis/testing";
import { todos } from "./commands.ts";
import { remind } from "./hooks.ts";
import { todo_add, todo_done } from "./tools.ts";

let dataDir = "";
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "todo-keeper-"));
});
after(() => rm(dataDir, { recursive: true }));

test("agents and people share one list", async () => {
  const context = { dataDir };
  assert.equal(await callHook(remind, {}, context), null);
  assert.equal(await callTool(todo_add, { value: "water the plants" }, context), "1. water the plants");
  assert.equal(await callTool(todo_add, { value: "water the plants" }, context), "1. water the plants");
  assert.equal(await callCommand(todos, "add feed the cat", context), "2. feed the cat");
  const said = await callHook(remind, { userMessage: "hello" }, context);
  assert.match(said?.prependSystem ?? "", /1\. water the plants\n2\. feed the cat/);
  assert.equal(await callHook(remind, {}, { ...context, config: { remind_after: 3 } }), null);
  assert.deepEqual(await callCommand(todos, "do 2", context), {
    prompt: "Do this, then call todo_done with 2: feed the cat",
  });
  assert.equal(await callTool(todo_done, { value: 2 }, context), "1. water the plants");
  await assert.rejects(callTool(todo_done, { value: 2 }, context), /no open item 2/);
  await assert.rejects(callCommand(todos, "undo", context), /expected: \/todos/);
});
