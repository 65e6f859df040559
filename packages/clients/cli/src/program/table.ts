/** Every command, in help order. */
import { acpCommands } from "../commands/acp/spec.ts";
import { agentCommands } from "../commands/agent/spec.ts";
import { askCommands } from "../commands/ask/spec.ts";
import { channelCommands } from "../commands/channel/spec.ts";
import { daemonCommands } from "../commands/daemon/spec.ts";
import { groupCommands } from "../commands/group/spec.ts";
import { mcpCommands } from "../commands/mcp/spec.ts";
import { nodeCommands } from "../commands/node/spec.ts";
import { pluginCommands, slashCommandCommands, trustCommands } from "../commands/plugin/spec.ts";
import { configCommands } from "../commands/project/config-spec.ts";
import { projectCommands } from "../commands/project/spec.ts";
import { stateCommands } from "../commands/project/state-spec.ts";
import { queueCommands, taskCommands } from "../commands/queue/spec.ts";
import { sandboxCommands } from "../commands/sandbox/spec.ts";
import { scheduleCommands } from "../commands/schedule/spec.ts";
import { sessionCommands, subagentCommands } from "../commands/session/spec.ts";
import { skillCommands } from "../commands/skill/spec.ts";
import { webCommands } from "../commands/web/spec.ts";
import { workflowCommands } from "../commands/workflow/spec.ts";
import {
  claimCommands,
  landCommands,
  receiptCommands,
  rescueCommands,
  worktreeCommands,
} from "../commands/worktree/spec.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { CommandSpec, Exit } from "./command.ts";

const { init, ...otherSetup } = projectCommands;

export const commands: readonly CommandSpec[] = [
  sessionCommands,
  askCommands,
  agentCommands,
  skillCommands,
  pluginCommands,
  trustCommands,
  sandboxCommands,
  slashCommandCommands,
  subagentCommands,
  queueCommands,
  taskCommands,
  groupCommands,
  worktreeCommands,
  landCommands,
  claimCommands,
  receiptCommands,
  rescueCommands,
  workflowCommands,
  scheduleCommands,
  acpCommands,
  mcpCommands,
  channelCommands,
  daemonCommands,
  nodeCommands,
  webCommands,
  stateCommands,
  { init },
  configCommands,
  otherSetup,
].flatMap((noun) => Object.values<CommandSpec>(noun));

/** Words that group other commands. */
export const commandGroups: Readonly<Record<string, { summary: string; group?: string }>> = {
  queue: { summary: "Manage queues and their tasks", group: "Queues:" },
  task: { summary: "Show tasks of all queues", group: "Queues:" },
  worktree: { summary: "Show and remove the git worktrees of sessions", group: "Working copies:" },
  rescue: { summary: "Show and restore the work of removed worktrees", group: "Working copies:" },
  group: { summary: "Send one request to several sessions and combine their replies", group: "Groups:" },
  workflow: {
    summary: "Run, watch and resume workflows",
    group: "Workflows:",
  },
  mcp: { summary: "Serve the Model Context Protocol to another program, or set one up", group: "Other programs:" },
  schedule: { summary: "Manage schedules and their firings", group: "Schedules:" },
  channel: { summary: "Show, pair and test channels: messengers, webhooks and notifications", group: "Channels:" },
  ask: { summary: "Show what agents ask a person", group: "Sessions:" },
  skill: { summary: "Manage skills: instructions for particular tasks", group: "Sessions:" },
  agent: { summary: "Manage the project's agents and their files", group: "Sessions:" },
  sandbox: { summary: "Decide about what programs reach", group: "Setup:" },
  plugin: { summary: "Manage plugins, which add hooks, tools, workflows, agents and skills", group: "Plugins:" },
  command: { summary: "List slash commands", group: "Plugins:" },
  service: { summary: "Keep the daemon running over reboots", group: "The daemon:" },
  node: { summary: "Drain, resume and forget nodes of a cluster", group: "The daemon:" },
  config: { summary: "Show and change the configuration", group: "Setup:" },
  state: { summary: "Show, adopt or set aside the state in this folder", group: "Setup:" },
  store: { summary: "Restore sessions of a lost database, or move the data to another store", group: "Setup:" },
  "config agent": { summary: "Declare, list and remove agents" },
  "config queue": { summary: "Declare, list and remove queues" },
  "config plugin-dir": { summary: "Add and remove folders of plugins" },
};

/** `aegis --resume`. */
export function resumed(cx: Terminal): Exit {
  return import("../commands/workflow/workflow.ts").then((it) => it.resumed(cx));
}

/** `aegis` without arguments: the terminal app, or a summary if there is no terminal. */
export function home(cx: Terminal): Exit {
  if (cx.editable) return import("../commands/session/app.ts").then((it) => it.openApp(cx));
  return import("../commands/daemon/status.ts").then((it) => it.home(cx));
}
