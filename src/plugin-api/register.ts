/** Makes what `register(api)` is given: each method hands one definition on. */
import type { PluginAPI } from "./api.ts";
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

/** Anything a plugin brings. */
export type Part = Hook | Tool | Skill | PluginAgent | Command | PluginReducer | Workflow;

export function registrar(context: PluginContext, add: (part: Part) => void): PluginAPI {
  return {
    ...context,
    registerTool({ handler: own, ...options }, handler = own) {
      // Checked by `tool` itself, which says what is missing.
      add(tool(options, handler as never));
    },
    // `hook` takes and checks the very same arguments.
    registerHook: (...args: unknown[]) => add((hook as (...given: unknown[]) => Hook)(...args)),
    registerWorkflow(workflow) {
      if (!isWorkflow(workflow)) throw new TypeError("registerWorkflow() expects what workflow() gave");
      add(workflow);
    },
    registerSkill: (options) => add(skill(options)),
    registerAgent: (options) => add(agent(options)),
    registerCommand: (options, handler) => add(command(options, handler)),
    registerReducer: (name, handler) => add(reducer(name, handler)),
  };
}
