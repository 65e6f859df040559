/**
 * Every argument of every tool, by what Aegis does with it. A tool with a new argument fails here until it has a place
 * in one of the lists. An argument that is a command, or may become one, is judged as a call to `bash`: pass it through
 * `agentCheck`, and add it to `ways` in `test/behaviour/gated-commands.test.ts`, whose agents have no `bash`.
 */
import type { ToolSpec } from "@aegis/drivers/driver.ts";
import { completed, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { checkArgument } from "../src/tools/check.ts";

/** Commands: judged when they are named. */
const commands = ["sessions_spawn.check", "aegis_enqueue.check", "aegis_delegate.check"];

/** Any value, for code of the user that may make a command of it: each command of the run is judged before it runs. */
const forCode = ["aegis_run_workflow.kwargs"];

/** Names, ids, times, choices, and text that only agents and people read. */
const inert: Readonly<Record<string, string>> = {
  aegis_list_sessions: "",
  aegis_list_agents: "",
  aegis_spawn: "agent prompt handle isolation from_handle",
  aegis_handoff: "target_handle context interrupt from_handle",
  aegis_close: "handle from_handle",
  aegis_ask_human: "question options timeout_s",
  sessions_spawn: "agent_id task label model timeout isolation cleanup",
  sessions_send: "run_id_or_label message timeout",
  sessions_list: "status_filter",
  sessions_history: "run_id",
  sessions_kill: "run_id",
  agent: "agent_name agent_type task_prompt thoroughness context_files fresh",
  agent_ask: "agent_id message thoroughness",
  aegis_enqueue: "queue payload callback from_handle",
  aegis_delegate: "queue payload timeout_s from_handle",
  aegis_task_status: "task_id",
  aegis_cancel: "task_id from_handle",
  aegis_group_spawn: "group profiles preset handle",
  aegis_group_broadcast: "group objective output_format tool_guidance boundaries from_handle",
  aegis_group_wait_all: "group broadcast_id timeout reducer",
  aegis_group_wait_any: "group broadcast_id timeout cancel_losers",
  aegis_group_status: "group",
  aegis_group_dissolve: "group",
  aegis_run_workflow: "name callback from_handle",
  aegis_workflow_status: "workflow_id",
  aegis_changes: "session turn patch",
  aegis_claim: "paths wait_seconds",
  aegis_release: "paths",
  load_skill: "name arguments",
  search_skills: "query limit",
  // A person agrees to what it installs, after the scan.
  skill_install: "name source",
  aegis_meta: "",
};

async function offered(): Promise<readonly ToolSpec[]> {
  const lists: ToolSpec[][] = [];
  const driver = testDriver(async function* ({ spec }) {
    lists.push(await spec.host.tools.list());
    yield completed;
  });
  const runtime = await testRuntime(await tempDir(), driver);
  await runtime.sessions.create({ prompt: "which tools do you have?" });
  await turnsEnded(runtime, 1);
  return lists[0] ?? [];
}

it("each argument of a tool is known to be a command or not to be one", async () => {
  const specs = await offered();
  const given = specs.flatMap(({ name, inputSchema }) => {
    const { properties } = z.object({ properties: z.record(z.string(), z.unknown()) }).parse(inputSchema);
    return Object.entries(properties).map(([argument, schema]) => ({ argument: `${name}.${argument}`, schema }));
  });
  const known = Object.entries(inert).flatMap(([tool, names]) =>
    names.split(" ").flatMap((name) => (name === "" ? [] : [`${tool}.${name}`])),
  );
  expect(specs.map(({ name }) => name).toSorted()).toEqual(Object.keys(inert).toSorted());
  expect(given.map(({ argument }) => argument).toSorted()).toEqual([...known, ...forCode, ...commands].toSorted());

  const { $schema: _, ...check } = z.toJSONSchema(checkArgument, { io: "input" });
  const checks = given.filter(({ schema }) => JSON.stringify(schema) === JSON.stringify(check));
  expect(checks.map(({ argument }) => argument).toSorted()).toEqual(commands.toSorted());
});
