/** Every command, in the order of the help. */
import type { CommandSpec } from "./spec.ts";
import { agentCommands } from "./table/agents.ts";
import { slashCommandCommands } from "./table/commands.ts";
import { daemonCommands } from "./table/daemon.ts";
import { groupCommands } from "./table/groups.ts";
import { pluginInstallCommands } from "./table/plugin-install.ts";
import { pluginCommands } from "./table/plugins.ts";
import { queueCommands } from "./table/queues.ts";
import { scheduleCommands } from "./table/schedules.ts";
import { sessionCommands } from "./table/sessions.ts";
import { commandGroups, setupCommands } from "./table/setup.ts";
import { skillInstallCommands } from "./table/skill-install.ts";
import { skillCommands } from "./table/skills.ts";
import { subagentCommands } from "./table/subagents.ts";
import { workflowCommands } from "./table/workflows.ts";
import type { Terminal } from "./terminal.ts";

export { commandGroups };

export const commands: readonly CommandSpec[] = [
  ...sessionCommands,
  ...agentCommands,
  ...skillInstallCommands,
  ...skillCommands,
  ...pluginCommands,
  ...pluginInstallCommands,
  ...slashCommandCommands,
  ...subagentCommands,
  ...queueCommands,
  ...groupCommands,
  ...workflowCommands,
  ...scheduleCommands,
  ...daemonCommands,
  ...setupCommands,
];

/** `aegis --resume`. */
export async function resumed(cx: Terminal): Promise<number> {
  return (await import("./commands/workflow.ts")).resumed(cx);
}

/** `aegis` alone. */
export async function home(cx: Terminal): Promise<number> {
  return (await import("./commands/status.ts")).home(cx);
}
