/** The hooks around tools of the plane, those of plugins among them. Harness and native agents pass here alike. */
import type { PermissionAnswer, PermissionRequest, ToolOutcome } from "../../drivers/driver.ts";
import type { SessionRow } from "../../store/store.ts";
import type { Tool, ToolContext, ToolGuard } from "../registry/tools.ts";
import type { HookBus } from "./bus.ts";
import { hookSession } from "./subject.ts";

export type ToolGuardOptions = {
  bus: HookBus;
  /** A person's answer. Never rejects: no answer is a denial with a reason. */
  permission: (session: SessionRow, request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;
};

export function toolGuard({ bus, permission }: ToolGuardOptions): ToolGuard {
  return {
    async before(tool, input, context) {
      if (!bus.has("pre_tool_use")) return { input };
      const use = useOf(tool, input, context);
      const verdict = await bus.run("pre_tool_use", use, context.signal);
      if (verdict.decision === "deny") return refused(tool, verdict.reason);
      const judged = "input" in verdict ? verdict.input : input;
      if (verdict.decision === "allow") return { input: judged };
      const { caller, signal } = context;
      const title = verdict.reason ?? `may "${caller.handle}" use ${tool.name}?`;
      const request = { call: null, tool: tool.name, kind: use.kind, title, input: judged };
      const answer = await permission(caller, request, signal);
      return answer.decision === "allow" ? { input: answer.input ?? judged } : refused(tool, answer.reason);
    },

    async after(tool, input, outcome, context) {
      if (!bus.has("after_tool_call")) return outcome;
      const { output, is_error } = outcome;
      const use = { ...useOf(tool, input, context), result: output, isError: is_error };
      const { result } = await bus.run("after_tool_call", use, context.signal);
      return result === null ? outcome : { output: result, is_error };
    },
  };
}

function useOf(tool: Tool, input: unknown, { caller }: ToolContext) {
  const kind = tool.readOnly ? ("read" as const) : ("other" as const);
  return { session: hookSession(caller), call: null, tool: tool.name, kind, plugin: tool.plugin ?? null, input };
}

function refused(tool: Tool, reason: string): ToolOutcome {
  return { output: `${tool.name} was denied: ${reason}`, is_error: true };
}
