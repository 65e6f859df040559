/** Puts what one generation of a plugin brings into the registries: all of it or nothing. */
import type { AgentDiagnostic, AgentProfile } from "../../contract/agent.ts";
import { AegisError, isAegisError } from "../../contract/errors.ts";
import type { HookCallResult } from "../../contract/hook.ts";
import { hookKinds } from "../../contract/hook.ts";
import type { ExecutableTool } from "../../contract/plugin.ts";
import type { Engine } from "../../plugin-api/engine.ts";
import { fillArguments } from "../commands/fill.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import type { Command, CommandRegistry } from "../registry/commands.ts";
import type { HookRegistry, HookRunner } from "../registry/hooks.ts";
import { jsonInput } from "../registry/tool-input.ts";
import type { Tool, ToolRegistry } from "../registry/tools.ts";
import type { CodeHost } from "./host/code-host.ts";
import { PluginLoadError } from "./host/errors.ts";
import { type ExecutableOptions, runExecutable } from "./host/executable.ts";
import type { Contributions, LogLevel, ToolDeclaration, WorkflowDeclaration } from "./protocol.ts";

export type Undo = () => void;

/** A workflow whose body runs elsewhere. */
export type PluginWorkflow = WorkflowDeclaration & {
  plugin: string;
  run(engine: Engine, args: unknown): Promise<unknown>;
};

/** A skill as text, or as a file in the plugin's folder. */
export type PluginSkill = { plugin: string } & (
  | { name: string; description: string; content: string }
  | { file: string; folder: string }
);

/** A command that is a page of the plugin's folder. */
export type PageCommand = {
  name: string;
  description: string;
  argumentHint: string | null;
  file: string;
  body: string;
};

export type PluginReducerRun = (replies: readonly { handle: string; text: string }[]) => Promise<unknown>;

/** Where contributions go. Each `add` returns its undo and throws `conflict` for a name that is taken. */
export type Registries = {
  tools: ToolRegistry;
  hooks: HookRegistry;
  agents: AgentRegistry;
  commands: CommandRegistry;
  addWorkflow(workflow: PluginWorkflow): Undo;
  addReducer(name: string, reducer: PluginReducerRun): Undo;
  addSkill(skill: PluginSkill): Undo;
  /** The plugin tells agents of the skills from now on. */
  offerSkills(plugin: string): Undo;
};

export type Contribution = {
  plugin: string;
  /** Its place among the plugins. */
  order: number;
  contributions: Contributions;
  /** Null for a plugin without code. */
  code: CodeHost | null;
  executables: readonly ExecutableTool[];
  running: Omit<ExecutableOptions, "plugin">;
  agents: readonly AgentProfile[];
  agentFaults: readonly AgentDiagnostic[];
  skills: readonly PluginSkill[];
  /** Those that are pages of its folder. */
  commands: readonly PageCommand[];
  log: (level: LogLevel, text: string) => void;
};

/** Longer than any hook of a batch may take: the bus keeps the time, this only ends what it has forgotten. */
const hookMarginMs = 30_000;
const shortCallMs = 30_000;

/** Throws what the first refused part was refused for; then nothing of the plugin is registered. */
export function contribute(part: Contribution, registries: Registries): Undo {
  const undo: Undo[] = [];
  const undoAll = () => {
    for (const one of undo.splice(0).reverse()) one();
  };
  try {
    for (const tool of part.executables) undo.push(registries.tools.add(executableTool(part, tool)));
    undo.push(registries.agents.registerPluginAgents(part.agents));
    undo.push(registries.agents.note(part.agentFaults));
    for (const skill of part.skills) undo.push(registries.addSkill(skill));
    for (const { body, ...command } of part.commands) {
      const run = async (args: string) => ({ prompt: fillArguments(body, args) });
      undo.push(registries.commands.add({ ...command, plugin: part.plugin, order: part.order, run }));
    }
    if (part.code !== null) undo.push(...contributeCode(part, part.code, registries));
  } catch (error) {
    undoAll();
    throw error;
  }
  return undoAll;
}

/** What stays of a plugin that is gone: hooks without which nothing may pass. They refuse. */
export function contributeRefusals(part: Contribution, registries: Registries, reason: string): Undo {
  const hooks = part.contributions.hooks.filter((hook) => hook.strict || hookKinds[hook.event] === "gate");
  const { plugin, order } = part;
  if (hooks.length === 0) return () => {};
  const run: HookRunner = () =>
    Promise.reject(new AegisError("unavailable", `the plugin "${plugin}" is not there: ${reason}`));
  return registries.hooks.add({ plugin, order, hooks, run });
}

function contributeCode(part: Contribution, code: CodeHost, registries: Registries): Undo[] {
  const { plugin, order, contributions } = part;
  const undo: Undo[] = [];
  const keep = (one: Undo) => undo.push(one);
  try {
    for (const [index, tool] of contributions.tools.entries())
      keep(registries.tools.add(codeTool(part, code, tool, index)));
    for (const [index, declared] of contributions.workflows.entries()) {
      const run = (engine: Engine, args: unknown) => code.run(index, engine, args);
      keep(placed(declared, () => registries.addWorkflow({ ...declared, plugin, run })));
    }
    for (const skill of contributions.skills) keep(registries.addSkill({ plugin, ...skill }));
    for (const [index, declared] of contributions.commands.entries()) {
      const what = `the command "/${declared.name}"`;
      const run: Command["run"] = (args, caller, signal) =>
        code
          .call({ kind: "command", index, args, caller }, { timeoutMs: shortCallMs, signal, what })
          .catch((error: unknown) => Promise.reject(told(error, what, part.log)));
      keep(registries.commands.add({ ...declared, plugin, order, file: null, run }));
    }
    for (const [index, name] of contributions.reducers.entries()) {
      const options = { timeoutMs: shortCallMs, what: `the reducer "${name}"` };
      keep(registries.addReducer(name, (replies) => code.call({ kind: "reducer", index, replies }, options)));
    }
    if (contributions.hooks.some((hook) => hook.offersSkills)) keep(registries.offerSkills(plugin));
    if (contributions.hooks.length > 0)
      keep(registries.hooks.add({ plugin, order, hooks: contributions.hooks, run: hookRunner(plugin, code) }));
    return undo;
  } catch (error) {
    for (const one of undo.reverse()) one();
    throw error;
  }
}

/** A name that is taken is told with the line that asks for it. */
function placed({ place }: WorkflowDeclaration, add: () => Undo): Undo {
  try {
    return add();
  } catch (error) {
    throw isAegisError(error) ? new PluginLoadError(error.message, place) : error;
  }
}

function hookRunner(plugin: string, code: CodeHost): HookRunner {
  return async (batch, signal) => {
    const timeoutMs = batch.hooks.reduce((sum, hook) => sum + hook.timeoutMs, hookMarginMs);
    const what = `${batch.event} of the plugin "${plugin}"`;
    const results = await code.call({ kind: "hooks", batch }, { timeoutMs, signal, what });
    if (!Array.isArray(results)) throw new AegisError("internal", `${what} gave no results`);
    return results as HookCallResult[];
  };
}

function codeTool(part: Contribution, code: CodeHost, declared: ToolDeclaration, index: number): Tool {
  const { plugin, log } = part;
  const { name, description, schema, checksInput, permission, timeoutMs, requiredAgent, visibleTo, readOnly } =
    declared;
  return {
    ...toolFields(plugin, { name, description, permission, readOnly, requiredAgent, visibleTo }),
    input: checksInput ? { schema, check: null } : jsonInput(schema),
    async run(input: unknown, { caller, agent, key, signal }) {
      const from = { session: { id: caller.id, handle: caller.handle }, agent: agent.slug };
      const what = `the tool "${name}" of the plugin "${plugin}"`;
      try {
        return await code.call({ kind: "tool", index, input, key, caller: from }, { timeoutMs, signal, what });
      } catch (error) {
        throw told(error, what, log);
      }
    },
  };
}

function executableTool(part: Contribution, tool: ExecutableTool): Tool {
  const { plugin, running } = part;
  const { name, description, schema, permission, read_only: readOnly } = tool;
  const more = { requiredAgent: tool.required_agent, visibleTo: tool.visible_to };
  return {
    ...toolFields(plugin, { name, description, permission, readOnly, ...more }),
    input: jsonInput(schema),
    run: (input: unknown, { signal }) => runExecutable(tool, input, { ...running, plugin }, signal),
  };
}

type ToolFields = Pick<
  ToolDeclaration,
  "name" | "description" | "permission" | "readOnly" | "requiredAgent" | "visibleTo"
>;

function toolFields(plugin: string, declared: ToolFields) {
  const { requiredAgent, visibleTo, ...fields } = declared;
  return {
    ...fields,
    plugin,
    ...(requiredAgent === null ? {} : { required_agent: requiredAgent }),
    ...(visibleTo.length === 0 ? {} : { visible_to: visibleTo }),
  };
}

/** The agent reads the message, the author finds the stack in the plugin's log. */
function told(error: unknown, what: string, log: Contribution["log"]): unknown {
  if (isAegisError(error) || !(error instanceof Error)) return error;
  log("error", `${what} failed: ${error.stack ?? error.message}`);
  return new AegisError("internal", error.message);
}
