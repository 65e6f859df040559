/**
 * Restricts a harness to its agent's tools where no option of the harness does: calls are checked when the harness asks
 * about them, before plugins check them.
 */
import { type ScopedAgent, scopeOf } from "@aegis/contract/tool-access.ts";
import { coreTools } from "@aegis/contract/tool-names.ts";
import type { ConversationHost, ConversationSpec, ToolUse } from "../driver.ts";

/** The tools, as an agent's `tools` names them, that a call needs. The agent must have all of them. */
export type Meaning = (use: ToolUse) => readonly string[];

/**
 * The spec with a host that also refuses tools that the agent does not have, if one of `tools` is affected: the tools
 * that the harness has and asks about.
 */
export function scopedSpec(spec: ConversationSpec, tools: readonly string[], meaning: Meaning): ConversationSpec {
  const refuse = toolRefusal(spec.agent);
  if (tools.every((tool) => refuse(tool) === null)) return spec;
  return { ...spec, host: scopedHost(spec.host, (use) => firstOf(meaning(use), refuse)) };
}

/** Why the agent may not use a tool of its harness, or null. The harness enforces the permission. */
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
    consent: () => host.consent(),
    agreedFile: (path) => host.agreedFile(path),
    permission: (request, signal) => host.permission(request, signal),
    gated: true,
    guarded: host.guarded,
    async beforeTool(use, signal) {
      const reason = refusal(use);
      return reason === null ? host.beforeTool(use, signal) : { decision: "deny", reason };
    },
    afterTool: (use, outcome, signal) => host.afterTool(use, outcome, signal),
    endTool: (use) => host.endTool(use),
    noteRead: (paths) => host.noteRead(paths),
    writeFile: host.writeFile,
    beforeModel: (request, signal) => host.beforeModel(request, signal),
    notice: (notice) => host.notice(notice),
    spontaneousTurn: (events) => host.spontaneousTurn(events),
    processes: host.processes,
    confined: host.confined,
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
