/** Runs the hooks around tools of the plane, including tools of plugins, for all harnesses and native agents. */
import type { PermissionAnswer, PermissionRequest, ToolOutcome } from "@aegis/drivers/driver.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { AgentTool, AgentToolContext, ToolGuard } from "@aegis/sessions/tools/tools.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import type { HookBus } from "./bus.ts";
import { type FileGuard, noOwnFolders, worktreeFolder } from "./file-guard.ts";
import { hookSession } from "./subject.ts";

export type ToolGuardOptions = {
  bus: HookBus;
  /** Asks a person. Never rejects: no answer is a denial with a reason. */
  permission: (session: SessionRow, request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;
  store: Store;
  projectRoot: string;
  /** The built-in gate. A plugin's tool may read or write any file that its arguments name. */
  fileGuard: FileGuard;
};

export function toolGuard({ bus, permission, store, projectRoot, fileGuard }: ToolGuardOptions): ToolGuard {
  const ownReason = async ({ plugin, readOnly, name }: AgentTool, input: unknown, caller: SessionRow) => {
    if (plugin === undefined) return null;
    const worktree = await worktreeFolder(store, caller.id, projectRoot);
    return fileGuard({ call: null, tool: name, kind: readOnly ? "read" : "other", input }, noOwnFolders, worktree);
  };

  return {
    async before(tool, input, context) {
      const { caller, signal } = context;
      const use = useOf(tool, input, context);
      const verdict = bus.events.has("pre_tool_use")
        ? await bus.run("pre_tool_use", use, signal)
        : { decision: "allow" as const };
      if (verdict.decision === "deny") return refused(tool, verdict.reason);
      const judged = "input" in verdict ? verdict.input : input;
      const own = await ownReason(tool, judged, caller).catch(
        (error: unknown) => `it could not be checked: ${errorText(error)}`,
      );
      if (verdict.decision === "allow" && own === null) return { input: judged };
      const asked = verdict.decision === "ask" ? verdict.reason : undefined;
      const reason = [own, asked].filter((part) => part !== null && part !== undefined).join("; ") || null;
      const title = reason ?? `may "${caller.handle}" use ${tool.name}?`;
      const once = own !== null;
      const request = { call: null, tool: tool.name, kind: use.kind, title, input: judged, reason, gate: true, once };
      const answer = await permission(caller, request, signal);
      return answer.decision === "allow" ? { input: answer.input ?? judged } : refused(tool, answer.reason);
    },

    async after(tool, input, outcome, context) {
      if (!bus.events.has("after_tool_call")) return outcome;
      const { output, is_error } = outcome;
      const use = { ...useOf(tool, input, context), result: output, isError: is_error };
      const { result } = await bus.run("after_tool_call", use, context.signal);
      return result === null ? outcome : { ...outcome, output: result };
    },
  };
}

function useOf(tool: AgentTool, input: unknown, { caller }: AgentToolContext) {
  const kind = tool.readOnly ? ("read" as const) : ("other" as const);
  return { session: hookSession(caller), call: null, tool: tool.name, kind, plugin: tool.plugin ?? null, input };
}

function refused(tool: AgentTool, reason: string): ToolOutcome {
  return { output: `${tool.name} was denied: ${reason}`, is_error: true };
}
