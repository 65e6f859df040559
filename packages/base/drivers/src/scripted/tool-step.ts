/** A tool call of the offline agent: one of its own tools, else one of the plane's. Every outcome is a result. */

import type { Clock } from "@aegis/lib/clock.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { ConversationSpec, DriverEvent, PermissionAnswer, ToolOutcome, ToolUse } from "../driver.ts";
import { judge } from "../tool-approval.ts";
import type { Gates } from "./gates.ts";
import { type ProjectTool, type ToolRun, toolError } from "./tools/project-tool.ts";
import { projectTools } from "./tools/project-tools.ts";

export type CallContext = Omit<StepContext, "values" | "clock">;

export async function* callTool(
  name: string,
  input: unknown,
  context: CallContext,
): AsyncGenerator<DriverEvent, ToolOutcome> {
  const own = projectTools.find((tool) => tool.name === name);
  yield {
    type: "tool_call",
    call: context.id,
    name,
    kind: own?.kind ?? "other",
    title: own?.title(input) ?? name,
    input,
    locations: own?.locations(input) ?? [],
    diff: null,
    parent: null,
  };
  const result = own ? await runOwn(own, input, context) : await callPlane(name, input, context);
  context.signal.throwIfAborted();
  yield { type: "tool_result", call: context.id, ...result };
  return result;
}

/** The plane judges calls of its own tools; these calls are judged here. */
async function runOwn(tool: ProjectTool, input: unknown, context: CallContext): Promise<ToolRun> {
  const { id, spec } = context;
  const { agent, host } = spec;
  if (tool.writes && agent.permission === "read")
    return toolError(`agent "${agent.slug}" may only read (its permission is "read")`);
  const files = (given: unknown) => ({
    reads: tool.kind === "read" ? tool.locations(given).map(({ path }) => path) : [],
    changes: tool.changes(given),
  });
  const use = { call: id, tool: tool.name, kind: tool.kind, input, files };
  try {
    return await runJudged(tool, use, context);
  } finally {
    await host.endTool(use);
  }
}

async function runJudged(tool: ProjectTool, use: ToolUse, { spec, signal }: CallContext): Promise<ToolRun> {
  const { agent, host, cwd } = spec;
  const { input } = use;
  const settled = tool.writes && agent.permission === "auto" ? null : allowed;
  const request = { ...use, title: tool.title(input), changes: tool.changes(input) };
  const answer = await judge(host, request, settled, signal);
  if (answer.decision === "deny") return toolError(`not permitted: ${answer.reason}`);
  const given = answer.input ?? input;
  const result = await tool.run(given, { root: cwd, signal, writeFile: host.writeFile });
  const output = await host.afterTool({ ...use, input: given }, result, signal);
  return output === null ? result : { ...result, output };
}

const allowed: PermissionAnswer = { decision: "allow", scope: "once" };

async function callPlane(name: string, input: unknown, { key, spec, signal }: CallContext): Promise<ToolRun> {
  const names = (await spec.host.tools.list()).map((tool) => tool.name);
  // The plane refuses a tool that the agent may not use, and gives the reason.
  if (!names.includes(name) && spec.host.tools.refusal(name) === null) {
    const all = [...projectTools.map((tool) => tool.name), ...names];
    return toolError(`no tool "${name}"${didYouMean(name, all)}`);
  }
  return { ...(await spec.host.tools.call(name, input, { key, signal })), diff: null };
}

export type StepContext = {
  /** Identifies this step in the turn's events. */
  id: string;
  /** The idempotency key of its side effects, stable if the turn is sent again. */
  key: string;
  /** The values of placeholders. A step adds its saved results. */
  values: Record<string, string>;
  spec: ConversationSpec;
  clock: Clock;
  gates: Gates;
  signal: AbortSignal;
};
