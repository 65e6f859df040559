/** Calls the parts of a plugin as Aegis would, without a daemon. */
import type { z } from "zod";
import type { HookContexts, HookEvent } from "../../contract/hook.ts";
import type { LogLevel, PluginContext } from "../context.ts";
import { definitionMark, isDefinition } from "../definition.ts";
import type { Engine } from "../engine.ts";
import type { Hook } from "../hook.ts";
import type { Command, CommandContext, PluginAgent, PluginReducer, Skill } from "../parts.ts";
import { registrar } from "../register.ts";
import type { StandardResult, Tool, ToolContext, ToolInput } from "../tool.ts";
import { isWorkflow, type Workflow } from "../workflow.ts";
import { hookContext } from "./contexts.ts";

/** A context whose log lines are kept in `lines`. */
export function fakeContext(over: Partial<ToolContext> = {}): ToolContext & { lines: string[] } {
  const lines: string[] = [];
  return {
    ...{ id: "test", config: {}, dataDir: "/data", pluginDir: "/plugin", projectRoot: "/project" },
    ...{ session: { id: "ses_test", handle: "lucid-knuth" }, agent: "dev", key: "test" },
    signal: new AbortController().signal,
    log: (level: LogLevel, message: string) => void lines.push(`${level}: ${message}`),
    lines,
    ...over,
  };
}

/** Calls a hook with a context of its event; `over` says what matters to the test. */
export async function callHook<E extends HookEvent>(
  part: Hook<E>,
  over: Partial<HookContexts[E]> = {},
  context: Partial<ToolContext> = {},
) {
  return (await part.handler(hookContext(part.event, over), fakeContext(context))) ?? null;
}

/** Calls a tool. Its input is checked where it brings a schema that can check. */
export async function callTool(part: Tool, input: unknown = {}, context: Partial<ToolContext> = {}): Promise<unknown> {
  const schema = part.options.input ?? part.options.parameters;
  return part.handler((await checked(schema, input)) as never, fakeContext(context));
}

/** Runs a command with what was typed behind it. Without a session in `context` it was typed in none. */
export async function callCommand(part: Command, args = "", context: Partial<CommandContext> = {}): Promise<unknown> {
  return (await part.handler(args, { ...fakeContext(), session: null, agent: null, ...context })) ?? null;
}

/** Runs a workflow on an engine of the test's own making. Its arguments are checked as they would be. */
export async function runWorkflow<Input extends z.ZodObject, Config>(
  part: Workflow<Input, Config>,
  engine: Engine<Config>,
  args: unknown = {},
): Promise<unknown> {
  return part.body(engine, (await checked(part.input ?? undefined, args)) as z.output<Input>);
}

/** Gives a reducer what members of a group replied. */
export async function callReducer(
  part: PluginReducer,
  replies: readonly { handle: string; text: string }[],
): Promise<unknown> {
  return part.handler(replies);
}

export type Parts = {
  hooks: Hook[];
  tools: Tool[];
  workflows: Workflow[];
  skills: Skill[];
  agents: PluginAgent[];
  commands: Command[];
  reducers: PluginReducer[];
};

/** What a module brings: its exports, and what its `register` adds. */
export async function loadedParts(
  module: Readonly<Record<string, unknown>>,
  over: Partial<PluginContext> = {},
): Promise<Parts> {
  const parts: Parts = { hooks: [], tools: [], workflows: [], skills: [], agents: [], commands: [], reducers: [] };
  const add = (part: unknown) => {
    if (isWorkflow(part)) parts.workflows.push(part);
    else if (isDefinition(part)) (parts[`${part[definitionMark]}s`] as unknown[]).push(part);
  };
  for (const value of Object.values(module)) add(value);
  if (typeof module.register === "function") await module.register(registrar({ ...fakeContext(), ...over }, add));
  return parts;
}

async function checked(schema: ToolInput | undefined, input: unknown): Promise<unknown> {
  if (schema === undefined || !("~standard" in schema)) return input;
  const { validate } = schema["~standard"] as { validate: (value: unknown) => Promise<StandardResult<unknown>> };
  const result = await validate(input);
  if (result.issues === undefined) return result.value;
  throw new TypeError(`wrong input: ${result.issues.map((issue) => issue.message).join("; ")}`);
}
