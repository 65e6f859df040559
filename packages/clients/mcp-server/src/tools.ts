/** The tools that an MCP client sees. Few and short: some clients load every schema into each conversation. */

import { isId, newId } from "@aegis/contract/ids.ts";
import { z } from "zod";
import { askTool } from "./ask-tool.ts";
import { defineTool, type McpTool, value } from "./context.ts";
import { defaultWaitSeconds, longestWaitSeconds, outcomeOf, resultOf, workId } from "./outcomes.ts";

const wait_seconds = z
  .number()
  .min(0)
  .max(longestWaitSeconds)
  .default(defaultWaitSeconds)
  .describe("how long to wait for the result; 0 returns immediately");
const session = z.string().describe("a session's handle or id");

export const tools: readonly McpTool[] = [
  defineTool({
    name: "aegis_team",
    description: "List the agents, queues and workflows of this project.",
    readOnly: true,
    input: z.object({}),
    async run(_input, { signal }, { client }) {
      const [{ agents }, { queues }, { workflows }] = await Promise.all([
        client.call("listAgents", { signal }),
        client.call("listQueues", { signal }),
        client.call("listWorkflows", { signal }),
      ]);
      return value({
        agents: agents.map(({ slug, description, harness, default: isDefault }) => ({
          name: slug,
          description,
          harness,
          ...(isDefault ? { default: true } : {}),
        })),
        queues: queues.flatMap(({ name, source, settings, tasks }) =>
          source === "built-in" ? [] : { name, agent: settings?.agent ?? null, tasks },
        ),
        workflows: workflows.map(({ name, description, schema }) => ({ name, description, args: schema })),
      });
    },
  }),
  defineTool({
    name: "aegis_sessions",
    description: "List the open sessions: who works on what, and who waits for a person.",
    readOnly: true,
    input: z.object({}),
    async run(_input, { signal }, { client }) {
      const { sessions } = await client.call("listSessions", { signal });
      return value({
        sessions: sessions.map(({ handle, agent, title, state, pending, needs_you }) => ({
          session: handle,
          agent,
          title,
          state,
          pending,
          ...(needs_you === null ? {} : { waits_for_a_person: true }),
        })),
      });
    },
  }),
  defineTool({
    name: "aegis_start",
    description: "Start a session of an agent with a task and wait for the answer. Returns an id for aegis_wait.",
    input: z.object({
      prompt: z.string().min(1).describe("the task, complete in itself"),
      agent: z.string().optional().describe("a name from aegis_team; default: the project's default agent"),
      title: z.string().max(80).optional(),
      wait_seconds,
    }),
    async run({ prompt, agent, title, wait_seconds: seconds }, call, context) {
      const body = { prompt, ...(agent === undefined ? {} : { agent }), ...(title === undefined ? {} : { title }) };
      const { session: made, receipt } = await context.client.call("createSession", { body, signal: call.signal });
      const id = receipt?.message;
      if (id === undefined) return value({ session: made.handle });
      return value({ session: made.handle, ...(await asObject(outcomeOf(context, id, seconds, call))) });
    },
  }),
  defineTool({
    name: "aegis_send",
    description: "Send a message to a session and wait for the answer.",
    input: z.object({ session, text: z.string().min(1), wait_seconds }),
    async run({ session: to, text, wait_seconds: seconds }, call, context) {
      // The id makes a request that the connection repeats harmless.
      const body = { id: newId("msg", Date.now()), text };
      const { receipt } = await context.client.call("sendMessage", {
        path: { session: to },
        body,
        signal: call.signal,
      });
      const outcome = await asObject(outcomeOf(context, receipt.message, seconds, call));
      return value({ session: receipt.handle, ...outcome });
    },
  }),
  defineTool({
    name: "aegis_wait",
    description: "Wait for a message, task or run to end, and get its result.",
    readOnly: true,
    input: z.object({ id: z.string().describe("msg_…, tsk_… or run_…"), wait_seconds }),
    async run({ id, wait_seconds: seconds }, call, context) {
      return value(await outcomeOf(context, workId(id), seconds, call));
    },
  }),
  defineTool({
    name: "aegis_result",
    description: "Get the result of a message, task or run, or the rest of a long one.",
    readOnly: true,
    input: z.object({ id: z.string(), offset: z.number().int().min(0).default(0) }),
    run: async ({ id, offset }, _call, context) => value(await resultOf(context, workId(id), offset)),
  }),
  defineTool({
    name: "aegis_stop",
    description: "Interrupt the current turn of a session, or cancel a task or run.",
    input: z.object({ target: z.string().describe("a session's handle or id, tsk_… or run_…") }),
    async run({ target }, { signal }, { client }) {
      if (isId("tsk", target)) return value(await client.call("cancelTask", { path: { task: target }, signal }));
      if (isId("run", target)) {
        const { run } = await client.call("cancelRun", { path: { run: target }, body: {}, signal });
        return value({ id: run.id, status: run.status });
      }
      return value(await client.call("interruptSession", { path: { session: target }, signal }));
    },
  }),
  defineTool({
    name: "aegis_enqueue",
    description: "Put a task into a queue. Returns its id for aegis_wait.",
    input: z.object({
      queue: z.string(),
      prompt: z.string().min(1),
      key: z.string().min(1).max(150).optional().describe("an idempotency key: the same key twice adds one task"),
      wait_seconds: wait_seconds.default(0),
    }),
    async run({ queue, prompt, key, wait_seconds: seconds }, call, context) {
      const body = { payload: prompt, ...(key === undefined ? {} : { key }) };
      const { task, duplicate } = await context.client.call("enqueueTask", {
        path: { queue },
        body,
        signal: call.signal,
      });
      const outcome = await asObject(outcomeOf(context, task.id, seconds, call));
      return value({ ...outcome, ...(duplicate ? { duplicate } : {}) });
    },
  }),
  defineTool({
    name: "aegis_run_workflow",
    description: "Start a run of a workflow. Returns its id for aegis_wait.",
    input: z.object({
      workflow: z.string(),
      args: z.record(z.string(), z.unknown()).default({}).describe("as aegis_team describes them"),
      wait_seconds: wait_seconds.default(0),
    }),
    async run({ workflow, args, wait_seconds: seconds }, call, context) {
      const body = { id: newId("run", Date.now()), args };
      const { run } = await context.client.call("startRun", { path: { workflow }, body, signal: call.signal });
      return value(await outcomeOf(context, run.id, seconds, call));
    },
  }),
  askTool,
];

async function asObject(outcome: Promise<unknown>): Promise<object> {
  const settled = await outcome;
  return typeof settled === "object" && settled !== null ? settled : {};
}
