/**
 * The public API without `z`. Plugins that do not use `z` load this file, because zod alone costs as much memory as a
 * worker.
 */
export type * from "@aegis/contract/hook.ts";
export type { PluginAPI } from "./api.ts";
export {
  type ChannelAccount,
  type ChannelAsk,
  type ChannelCall,
  type ChannelContent,
  ChannelError,
  type ChannelFaultKind,
  type ChannelFile,
  type ChannelHost,
  type ChannelInbound,
  type ChannelInboundContent,
  type ChannelOptions,
  type ChannelPlace,
  type ChannelQuote,
  type ChannelSendCall,
  channel,
  type PluginChannel,
  parseMessage,
} from "./channel.ts";
export type { CallContext, LogLevel, PluginContext, PluginLog } from "./context.ts";
export { PredicateFailed, WorkflowError } from "./errors.ts";
export { type Hook, type HookCall, type HookHandler, type HookOptions, hook } from "./hook.ts";
export type {
  ConfigEdit,
  InstallConsole,
  InstallContext,
  InstallFiles,
  InstallScheduler,
  InstallScript,
} from "./install.ts";
export {
  type AgentOptions,
  agent,
  type Command,
  type CommandContext,
  type CommandHandler,
  type CommandOptions,
  command,
  type PluginAgent,
  type PluginReducer,
  type ReducerHandler,
  reducer,
  type Skill,
  type SkillOptions,
  skill,
} from "./parts.ts";
export {
  type InputOf,
  type JsonSchema,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolHandler,
  type ToolInput,
  type ToolOptions,
  tool,
} from "./tool.ts";
export { isWorkflow, type Workflow, type WorkflowBody, type WorkflowOptions, workflow } from "./workflow.ts";
export type {
  BashOptions,
  BashResult,
  Engine,
  GroupBrief,
  GroupWait,
  OnUncertain,
  PredicateOptions,
  WorkflowContext,
} from "./workflow-context.ts";
