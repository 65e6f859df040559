/** Registers the contributions of one generation of a plugin: all of them except bad tools, or none. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { AgentDiagnostic, AgentProfile } from "@aegis/contract/agent.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { HookCallResult } from "@aegis/contract/hook.ts";
import type { ExecutableTool } from "@aegis/contract/plugin.ts";
import type { HookRunner, HookTable } from "@aegis/hooks/hook-table.ts";
import type { LogLevel } from "@aegis/plugin-api/context.ts";
import type { WorkflowContext } from "@aegis/plugin-api/workflow-context.ts";
import { jsonInput } from "@aegis/sessions/tools/tool-input.ts";
import type { AgentTool, ToolTable } from "@aegis/sessions/tools/tools.ts";
import type { CommandTable, SlashCommand } from "@aegis/skills/commands/command-table.ts";
import { fillArguments } from "@aegis/skills/commands/fill.ts";
import type { CodeHost } from "./host/code-host.ts";
import { PluginLoadError } from "./host/errors.ts";
import { type ConfineTool, type ExecutableOptions, runExecutable } from "./host/executable.ts";
import type { CallOptions } from "./host/open-calls.ts";
import type {
  ChannelDeclaration,
  ChannelMethod,
  ChannelReply,
  Contributions,
  Fault,
  ToolDeclaration,
  WorkflowDeclaration,
} from "./protocol.ts";

export type Undo = () => void;

/** A workflow whose body runs in a worker. */
export type PluginWorkflow = WorkflowDeclaration & {
  plugin: string;
  run(context: WorkflowContext, args: unknown): Promise<unknown>;
};

/** A channel whose functions run in a worker. */
export type WorkerChannel = ChannelDeclaration & {
  plugin: string;
  /** Rejects only if the worker gave no answer. */
  call(method: ChannelMethod, args: unknown[], options: Omit<CallOptions, "what">): Promise<ChannelReply>;
};

/** A skill as text, or as a file in the plugin's folder. */
export type PluginSkill = { plugin: string } & (
  | { name: string; description: string; content: string }
  | { file: string; folder: string }
);

/** A command that is a page in the plugin's folder. */
export type PageCommand = {
  name: string;
  description: string;
  argumentHint: string | null;
  file: string;
  body: string;
};

type PluginReducerRun = (replies: readonly { handle: string; text: string }[]) => Promise<unknown>;

/** The targets of contributions. Each `add` returns its undo function and throws `conflict` for a name in use. */
export type PluginTables = {
  tools: ToolTable;
  hooks: HookTable;
  agents: AgentTable;
  commands: CommandTable;
  addWorkflow(workflow: PluginWorkflow): Undo;
  addReducer(name: string, reducer: PluginReducerRun): Undo;
  addChannel(channel: WorkerChannel): Undo;
  addSkill(skill: PluginSkill): Undo;
  /** The plugin offers skills to agents from now on. */
  offerSkills(plugin: string): Undo;
};

export type PluginContribution = {
  plugin: string;
  /** Its position among the plugins. */
  order: number;
  contributions: Contributions;
  /** Null for a plugin without code. */
  code: CodeHost | null;
  executables: readonly ExecutableTool[];
  running: Omit<ExecutableOptions, "plugin" | "confine"> & { confine: ConfineTool };
  agents: readonly AgentProfile[];
  agentFaults: readonly AgentDiagnostic[];
  skills: readonly PluginSkill[];
  /** The commands that are pages in its folder. */
  commands: readonly PageCommand[];
  log: (level: LogLevel, text: string) => void;
  /** Resolves when code that is still being loaded can be called or has failed; null if it is not being loaded. */
  loading?: () => Promise<void> | null;
};

/** Longer than any hook of a batch may take: the bus enforces the timeouts; this only ends calls that it abandoned. */
const hookMarginMs = 30_000;
const shortCallMs = 30_000;

export type ContributedParts = {
  undo: Undo;
  /** The names of the registered tools. */
  tools: ReadonlySet<string>;
  /** Tools that were skipped. */
  faults: readonly Fault[];
};

/**
 * Skips a tool whose name is in use or whose schema is unusable. If another part is refused, it throws the reason and
 * registers nothing.
 */
export function contribute(part: PluginContribution, tables: PluginTables): ContributedParts {
  const undo: Undo[] = [];
  const tools = new Set<string>();
  const faults: Fault[] = [];
  const addTool = (name: string, make: () => AgentTool) => {
    try {
      undo.push(tables.tools.add(make()));
      tools.add(name);
    } catch (error) {
      if (!isAegisError(error)) throw error;
      faults.push({ message: `the tool "${name}" is left out: ${error.message}`, file: null, line: null });
    }
  };
  const undoAll = () => {
    for (const one of undo.splice(0).reverse()) one();
  };
  try {
    for (const tool of part.executables) addTool(tool.name, () => executableTool(part, tool));
    undo.push(tables.agents.registerPluginAgents(part.agents));
    undo.push(tables.agents.note(part.agentFaults));
    for (const skill of part.skills) undo.push(tables.addSkill(skill));
    for (const { body, ...command } of part.commands) {
      const run = async (args: string) => ({ prompt: fillArguments(body, args) });
      undo.push(tables.commands.add({ ...command, plugin: part.plugin, order: part.order, run }));
    }
    const { code } = part;
    if (code !== null) {
      for (const [index, tool] of part.contributions.tools.entries())
        addTool(tool.name, () => codeTool(part, code, tool, index));
      contributeCode(part, code, tables, (one) => undo.push(one));
    }
  } catch (error) {
    undoAll();
    throw error;
  }
  return { undo: undoAll, tools, faults };
}

function contributeCode(
  part: PluginContribution,
  code: CodeHost,
  tables: PluginTables,
  keep: (undo: Undo) => void,
): void {
  const { plugin, order, contributions } = part;
  for (const [index, declared] of contributions.workflows.entries()) {
    const run = (context: WorkflowContext, args: unknown) => code.run(index, context, args);
    keep(placed(declared, () => tables.addWorkflow({ ...declared, plugin, run })));
  }
  for (const skill of contributions.skills) keep(tables.addSkill({ plugin, ...skill }));
  for (const [index, declared] of contributions.commands.entries()) {
    const what = `the command "/${declared.name}"`;
    const run: SlashCommand["run"] = (args, caller, signal) =>
      code
        .call({ kind: "command", index, args, caller }, { timeoutMs: shortCallMs, signal, what })
        .catch((error: unknown) => Promise.reject(told(error, what, part.log)));
    keep(tables.commands.add({ ...declared, plugin, order, file: null, run }));
  }
  for (const [index, name] of contributions.reducers.entries()) {
    const options = { timeoutMs: shortCallMs, what: `the reducer "${name}"` };
    keep(tables.addReducer(name, (replies) => code.call({ kind: "reducer", index, replies }, options)));
  }
  for (const [index, declared] of contributions.channels.entries())
    keep(tables.addChannel(remoteChannel(part, code, declared, index)));
  if (contributions.hooks.some((hook) => hook.offersSkills)) keep(tables.offerSkills(plugin));
  if (contributions.hooks.length > 0)
    keep(
      tables.hooks.add({
        plugin,
        order,
        hooks: contributions.hooks,
        run: hookRunner(plugin, code),
        ...(part.loading === undefined ? {} : { loading: part.loading }),
      }),
    );
}

function remoteChannel(
  part: PluginContribution,
  code: CodeHost,
  declared: ChannelDeclaration,
  index: number,
): WorkerChannel {
  const { plugin } = part;
  return {
    ...declared,
    plugin,
    async call(method, args, options) {
      const what = `${method} of the channel "${declared.name}"`;
      const reply = await code.call({ kind: "channel", index, method, args }, { ...options, what });
      if (!isChannelReply(reply)) throw new AegisError("internal", `${what} gave an invalid answer`);
      return reply;
    },
  };
}

function isChannelReply(value: unknown): value is ChannelReply {
  if (typeof value !== "object" || value === null || !("ok" in value)) return false;
  return value.ok === true || ("kind" in value && "message" in value && typeof value.message === "string");
}

/** Reports a name in use with the line that declares it. */
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

function codeTool(part: PluginContribution, code: CodeHost, declared: ToolDeclaration, index: number): AgentTool {
  const { plugin, log } = part;
  const { name, description, schema, checksInput, permission, timeoutMs, requiredAgent, visibleTo, readOnly } =
    declared;
  return {
    ...toolFields(part, { name, description, permission, readOnly, requiredAgent, visibleTo }),
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

function executableTool(part: PluginContribution, tool: ExecutableTool): AgentTool {
  const { plugin, running } = part;
  const { name, description, schema, permission, read_only: readOnly } = tool;
  const more = { requiredAgent: tool.required_agent, visibleTo: tool.visible_to };
  return {
    ...toolFields(part, { name, description, permission, readOnly, ...more }),
    input: jsonInput(schema),
    run: (input: unknown, { caller, signal }) => {
      const { dataDir, cacheDir } = running;
      const confine = () => running.confine(caller.id, [dataDir, cacheDir]);
      return runExecutable(tool, input, { ...running, plugin, confine }, signal);
    },
  };
}

type ToolFields = Pick<
  ToolDeclaration,
  "name" | "description" | "permission" | "readOnly" | "requiredAgent" | "visibleTo"
>;

function toolFields({ plugin, agents, agentFaults }: PluginContribution, declared: ToolFields) {
  const { requiredAgent, visibleTo, ...fields } = declared;
  // The plugin's own agent takes precedence over others with the name, even if it is unusable.
  const own = [...agents.map((agent) => agent.slug), ...agentFaults.map((fault) => fault.agent)];
  const isOwn = own.some((name) => name !== null && name === requiredAgent);
  return {
    ...fields,
    plugin,
    ...(requiredAgent === null ? {} : { required_agent: isOwn ? `${plugin}:${requiredAgent}` : requiredAgent }),
    ...(visibleTo.length === 0 ? {} : { visible_to: visibleTo }),
  };
}

/** The agent gets the message; the plugin's log gets the stack. */
function told(error: unknown, what: string, log: PluginContribution["log"]): unknown {
  if (isAegisError(error) || !(error instanceof Error)) return error;
  log("error", `${what} failed: ${error.stack ?? error.message}`);
  return new AegisError("internal", error.message);
}
