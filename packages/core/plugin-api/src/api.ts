/** The object that a plugin's `register(api)` receives. */
import type { HookEvent } from "@aegis/contract/hook.ts";
import type { ChannelOptions } from "./channel.ts";
import type { PluginContext } from "./context.ts";
import type { HookHandler, HookOptions } from "./hook.ts";
import type { AgentOptions, CommandHandler, CommandOptions, ReducerHandler, SkillOptions } from "./parts.ts";
import type { InputOf, JsonSchema, ToolHandler, ToolInput, ToolOptions } from "./tool.ts";
import type { Workflow } from "./workflow.ts";

export type PluginAPI<Config = Record<string, unknown>> = PluginContext<Config> & {
  /** The handler is part of the options, or the second argument. */
  registerTool<Input extends ToolInput = JsonSchema>(
    options: ToolOptions<Input> & { handler?: ToolHandler<InputOf<Input>> },
    handler?: ToolHandler<InputOf<Input>>,
  ): void;
  registerHook<E extends HookEvent>(event: E, handler: HookHandler<E>): void;
  registerHook<E extends HookEvent>(event: E, options: HookOptions, handler: HookHandler<E>): void;
  registerWorkflow(workflow: Workflow): void;
  registerSkill(options: SkillOptions): void;
  registerAgent(options: AgentOptions): void;
  registerCommand(options: CommandOptions, handler: CommandHandler): void;
  registerReducer(name: string, handler: ReducerHandler): void;
  registerChannel(options: ChannelOptions): void;
};
