/**
 * Commands that Aegis runs for an agent: the check that an agent names, and the commands of a run that an agent
 * started. The gates check them like the agent's own commands; without that, an agent could pass every gate through
 * them.
 */

import { approveCommand, commandRefusal } from "@aegis/agents/rights/commands.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { ScopedAgent } from "@aegis/contract/tool-access.ts";
import type { CallVerdict, PermissionAnswer, PermissionRequest, ToolUse } from "@aegis/drivers/driver.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import type { HookBus } from "./bus.ts";
import { type FileGuard, noOwnFolders, worktreeFolder } from "./file-guard.ts";
import { hookSession } from "./subject.ts";

export type AgentCommandsOptions = {
  store: Store;
  bus: HookBus;
  projectRoot: string;
  guard: FileGuard;
  /** Asks a person. Never rejects: no answer is a denial with a reason. */
  permission: (session: SessionRow, request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;
};

export type AgentCommand = { session: SessionId; agent: ScopedAgent; command: string; title: string };

export class AgentCommands {
  readonly #options: AgentCommandsOptions;

  constructor(options: AgentCommandsOptions) {
    this.#options = options;
  }

  /** The reason why the command must not run, or null. Asks a person where a gate or the agent's permission says so. */
  async refusal({ session, agent, command, title }: AgentCommand, signal: AbortSignal): Promise<string | null> {
    const forbidden = commandRefusal(agent);
    if (forbidden !== null) return forbidden;
    const row = await this.#options.store.read.sessions.get(session);
    if (row === null) return `the session ${session} does not exist`;
    const ask = (request: PermissionRequest) => this.#options.permission(row, request, signal);
    const verdict = await this.#judged(row, command, signal);
    if (verdict.decision === "deny") return `the command was denied (${verdict.reason}): ${command}`;
    if (verdict.decision === "allow") return approveCommand(agent, { command, title }, ask);
    const { reason, once = false } = verdict;
    const answer = await ask({ ...useOf(command), title, reason, gate: true, once });
    return answer.decision === "deny" ? `the command was not approved (${answer.reason}): ${command}` : null;
  }

  async #judged(row: SessionRow, command: string, signal: AbortSignal): Promise<CallVerdict> {
    const { store, bus, guard, projectRoot } = this.#options;
    try {
      const use = useOf(command);
      const verdict = bus.events.has("pre_tool_use")
        ? await bus.run("pre_tool_use", { session: hookSession(row), plugin: null, ...use }, signal)
        : { decision: "allow" as const };
      if (verdict.decision === "deny") return verdict;
      if ("input" in verdict && JSON.stringify(verdict.input) !== JSON.stringify(use.input))
        return { decision: "deny", reason: "a gate changes it, and Aegis runs it only as it was named" };
      const worktree = await worktreeFolder(store, row.id, projectRoot);
      const reason = await guard(use, noOwnFolders, worktree);
      const asked = verdict.decision === "ask" ? (verdict.reason ?? null) : null;
      if (reason !== null)
        return { decision: "ask", reason: asked === null ? reason : `${reason}; ${asked}`, once: true };
      return verdict.decision === "ask" ? { decision: "ask", reason: asked } : { decision: "allow" };
    } catch (error) {
      return { decision: "deny", reason: `it could not be checked: ${errorText(error)}` };
    }
  }
}

function useOf(command: string): Pick<ToolUse, "call" | "tool" | "kind"> & { input: { command: string } } {
  return { call: null, tool: "bash", kind: "execute", input: { command } };
}
