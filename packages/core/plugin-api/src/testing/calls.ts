/** Calls the parts of a plugin as Aegis does, without a daemon. */

import type { HookContexts, HookEvent, HookResults } from "@aegis/contract/hook.ts";
import type { z } from "zod";
import type { PluginChannel } from "../channel.ts";
import type { LogLevel, PluginContext } from "../context.ts";
import { definitionMark, isDefinition } from "../definition.ts";
import type { Hook } from "../hook.ts";
import type { Command, CommandContext, PluginAgent, PluginReducer, Skill } from "../parts.ts";
import { registrar } from "../register.ts";
import type { StandardResult, Tool, ToolContext, ToolInput } from "../tool.ts";
import { isWorkflow, type Workflow } from "../workflow.ts";
import type { WorkflowContext } from "../workflow-context.ts";
import { hookContext } from "./contexts.ts";

/**
 * Creates the context that a handler receives as its last argument. Log lines are kept in `lines`.
 *
 * @example
 * ```ts
 * import { fakeContext } from "aegis/testing";
 *
 * const context = fakeContext({ config: { greeting: "Hi" } });
 * context.log("info", "started");
 * context.lines; // ["info: started"]
 * ```
 */
export function fakeContext(over: Partial<ToolContext> = {}): ToolContext & { lines: string[] } {
  const lines: string[] = [];
  return {
    id: "test",
    config: {},
    dataDir: "/data",
    pluginDir: "/plugin",
    projectRoot: "/project",
    session: { id: "ses_test", handle: "lucid-knuth" },
    agent: "dev",
    key: "test",
    signal: new AbortController().signal,
    log: (level: LogLevel, message: string) => void lines.push(`${level}: ${message}`),
    lines,
    ...over,
  };
}

/**
 * Calls a hook with a plausible context for its event. `over` replaces the fields that matter to the test. Returns null if
 * the hook returned nothing.
 *
 * @example
 * ```ts
 * import { hook } from "aegis";
 * import { callHook } from "aegis/testing";
 *
 * const shout = hook("message_received", ({ content }) => content.toUpperCase());
 * await callHook(shout, { content: "hello" }); // "HELLO"
 * ```
 */
export async function callHook<E extends HookEvent>(
  part: Hook<E>,
  over: Partial<HookContexts[E]> = {},
  context: Partial<ToolContext> = {},
): Promise<HookResults[E] | null> {
  return (await part.handler(hookContext(part.event, over), fakeContext(context))) ?? null;
}

/**
 * Calls a tool. The input is validated if the tool has a schema that can validate; `TypeError` says what is wrong with it.
 *
 * @example
 * ```ts
 * import { tool, z } from "aegis";
 * import { callTool } from "aegis/testing";
 *
 * const twice = tool({ description: "Doubles a number.", input: z.object({ n: z.number() }) }, ({ n }) => 2 * n);
 * await callTool(twice, { n: 21 }); // 42
 * ```
 */
export async function callTool(part: Tool, input: unknown = {}, context: Partial<ToolContext> = {}): Promise<unknown> {
  const schema = part.options.input ?? part.options.parameters;
  return part.handler((await checked(schema, input)) as never, fakeContext(context));
}

/**
 * Runs a slash command with the text that was typed after it. `context.session` is null unless the test provides one.
 *
 * @example
 * ```ts
 * import { command } from "aegis";
 * import { callCommand } from "aegis/testing";
 *
 * const hello = command({ name: "hello", description: "Greets a person." }, (args) => `Hello, ${args}!`);
 * await callCommand(hello, "Ada"); // "Hello, Ada!"
 * ```
 */
export async function callCommand(part: Command, args = "", context: Partial<CommandContext> = {}): Promise<unknown> {
  return (await part.handler(args, { ...fakeContext(), session: null, agent: null, ...context })) ?? null;
}

/**
 * Runs a workflow on a context that the test scripts. The arguments are validated by the schema of the workflow.
 *
 * @example
 * ```ts
 * import { workflow } from "aegis";
 * import { fakeWorkflowContext, runWorkflow } from "aegis/testing";
 *
 * const version = workflow("version", async (context) => (await context.bash("git describe")).stdout);
 * await runWorkflow(version, fakeWorkflowContext({ bash: () => "v1.2.3" })); // "v1.2.3"
 * ```
 */
export async function runWorkflow<Input extends z.ZodObject, Config>(
  part: Workflow<Input, Config>,
  context: WorkflowContext<Config>,
  args: unknown = {},
): Promise<unknown> {
  return part.body(context, (await checked(part.input ?? undefined, args)) as z.output<Input>);
}

/**
 * Calls a reducer with the replies of a group.
 *
 * @example
 * ```ts
 * import { reducer } from "aegis";
 * import { callReducer } from "aegis/testing";
 *
 * const first = reducer("first", ([reply]) => reply?.text ?? "");
 * await callReducer(first, [{ handle: "lucid-knuth", text: "yes" }]); // "yes"
 * ```
 */
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
  channels: PluginChannel[];
};

/**
 * Lists what a module of a plugin defines: its exports, and what its `register` function adds.
 *
 * @example
 * ```ts
 * import { tool } from "aegis";
 * import { loadedParts } from "aegis/testing";
 *
 * const module = { ping: tool({ description: "Answers." }, () => "pong") };
 * const { tools } = await loadedParts(module);
 * tools.length; // 1
 * ```
 */
export async function loadedParts(
  module: Readonly<Record<string, unknown>>,
  over: Partial<PluginContext> = {},
): Promise<Parts> {
  const parts: Parts = {
    hooks: [],
    tools: [],
    workflows: [],
    skills: [],
    agents: [],
    commands: [],
    reducers: [],
    channels: [],
  };
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
