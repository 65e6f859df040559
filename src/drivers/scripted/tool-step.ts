/** A tool call of the offline agent: one of its own tools, else one of the plane's. Every end is a result. */
import { didYouMean } from "../../lib/nearest.ts";
import type { ConversationSpec, DriverEvent, ToolOutcome } from "../driver.ts";
import type { StepContext } from "./step-context.ts";
import { countTodos } from "./tools/count-todos.ts";
import { grep } from "./tools/grep.ts";
import { listFiles } from "./tools/list-files.ts";
import { type ProjectTool, type ToolRun, toolError } from "./tools/project-tool.ts";
import { readProjectFile } from "./tools/read-file.ts";
import { writeReport } from "./tools/write-report.ts";

const projectTools: readonly ProjectTool[] = [listFiles, grep, countTodos, readProjectFile, writeReport];

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

async function runOwn(tool: ProjectTool, input: unknown, { id, spec, signal }: CallContext): Promise<ToolRun> {
  if (tool.writes) {
    const refusal = await refuseWrite(tool, input, id, spec, signal);
    if (refusal !== null) return toolError(refusal);
  }
  return tool.run(input, { root: spec.cwd, signal });
}

/** Why the agent may not write, or null when it may. */
async function refuseWrite(
  tool: ProjectTool,
  input: unknown,
  call: string,
  { agent, host }: ConversationSpec,
  signal: AbortSignal,
): Promise<string | null> {
  if (agent.permission === "read") return `agent "${agent.slug}" may only read (its permission is "read")`;
  if (agent.permission !== "auto") return null;
  const request = { call, tool: tool.name, kind: tool.kind, title: tool.title(input), input };
  const answer = await host.permission(request, signal);
  return answer.decision === "allow" ? null : `not permitted: ${answer.reason}`;
}

async function callPlane(name: string, input: unknown, { key, spec, signal }: CallContext): Promise<ToolRun> {
  const names = (await spec.host.tools.list()).map((tool) => tool.name);
  if (!names.includes(name)) {
    const all = [...projectTools.map((tool) => tool.name), ...names];
    return toolError(`no tool "${name}"${didYouMean(name, all)}`);
  }
  return { ...(await spec.host.tools.call(name, input, { key, signal })), diff: null };
}
