/** Creates the object that `register(api)` receives. Each method passes one definition on. */
import type { PluginAPI } from "./api.ts";
import { channel, type PluginChannel } from "./channel.ts";
import type { PluginContext } from "./context.ts";
import { type Hook, hook } from "./hook.ts";
import {
  agent,
  type Command,
  command,
  type PluginAgent,
  type PluginReducer,
  reducer,
  type Skill,
  skill,
} from "./parts.ts";
import { type Tool, tool } from "./tool.ts";
import { isWorkflow, type Workflow } from "./workflow.ts";

/** Any part of a plugin. */
export type Part = Hook | Tool | Skill | PluginAgent | Command | PluginReducer | PluginChannel | Workflow;

/** Called for an invalid tool. */
export type RefuseTool = (name: string | null, error: unknown) => void;

/** Without `refuse`, an invalid tool throws like any other invalid part. */
export function registrar(context: PluginContext, add: (part: Part) => void, refuse?: RefuseTool): PluginAPI {
  return {
    ...context,
    registerTool({ handler: own, ...options }, handler = own) {
      try {
        // `tool` itself validates the arguments and reports what is missing.
        add(tool(options, handler as never));
      } catch (error) {
        if (refuse === undefined) throw error;
        refuse(options.name ?? null, error);
      }
    },
    // `hook` takes and validates the same arguments.
    registerHook: (...args: unknown[]) => add((hook as (...given: unknown[]) => Hook)(...args)),
    registerWorkflow(workflow) {
      if (!isWorkflow(workflow)) throw new TypeError("registerWorkflow() expects the result of workflow()");
      add(workflow);
    },
    registerSkill: (options) => add(skill(options)),
    registerAgent: (options) => add(agent(options)),
    registerCommand: (options, handler) => add(command(options, handler)),
    registerReducer: (name, handler) => add(reducer(name, handler)),
    registerChannel: (options) => add(channel(options)),
  };
}
