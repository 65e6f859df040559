/**
 * Holds a harness with tools of its own to what its agent may use, where no switch of the harness does it: its calls are
 * judged when it asks about them, before plugins are.
 */
import { type ScopedAgent, scopeOf } from "../../contract/scope.ts";
import { coreTools } from "../../contract/tool-names.ts";
import type { ConversationHost, ConversationSpec, ToolUse } from "../driver.ts";

/** The tools, in the words of an agent's `tools`, that a call amounts to. All of them must be the agent's. */
export type Meaning = (use: ToolUse) => readonly string[];

/**
 * The conversation with a host that also refuses what is not the agent's, if that is one of `tools`: those the harness
 * has and can be stopped at.
 */
export function scopedSpec(spec: ConversationSpec, tools: readonly string[], meaning: Meaning): ConversationSpec {
  const refuse = toolRefusal(spec.agent);
  if (tools.every((tool) => refuse(tool) === null)) return spec;
  return { ...spec, host: scopedHost(spec.host, (use) => firstOf(meaning(use), refuse)) };
}

/** Why the agent may not use a tool of its harness, or null. Its permission is the harness's to enforce. */
export function toolRefusal(agent: ScopedAgent): (tool: string) => string | null {
  const decide = scopeOf({ ...agent, permission: "full" });
  return (name) => {
    const needs = coreTools.find((tool) => tool.name === name)?.needs ?? "read";
    const decision = decide({ name, kind: "core", plugin: null, needs, required_agent: null, visible_to: [] });
    return decision.allowed ? null : decision.refusal.error;
  };
}

function scopedHost(host: ConversationHost, refusal: (use: ToolUse) => string | null): ConversationHost {
  return {
    remember: (resume) => host.remember(resume),
    prepareSpawn: (command) => host.prepareSpawn(command),
    permission: (request, signal) => host.permission(request, signal),
    gated: true,
    async beforeTool(use, signal) {
      const reason = refusal(use);
      return reason === null ? host.beforeTool(use, signal) : { decision: "deny", reason };
    },
    afterTool: (use, outcome, signal) => host.afterTool(use, outcome, signal),
    beforeModel: (request, signal) => host.beforeModel(request, signal),
    notice: (notice) => host.notice(notice),
    spontaneousTurn: (events) => host.spontaneousTurn(events),
    tools: host.tools,
  };
}

function firstOf(tools: readonly string[], refuse: (tool: string) => string | null): string | null {
  for (const tool of tools) {
    const reason = refuse(tool);
    if (reason !== null) return reason;
  }
  return null;
}
