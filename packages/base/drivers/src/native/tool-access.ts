/** Decides which of the loop's own tools an agent has. The plane applies the same policy to its own tools. */
import { type ScopedAgent, scopeOf } from "@aegis/contract/tool-access.ts";
import { coreTools as knownTools } from "@aegis/contract/tool-names.ts";
import type { Tool } from "./tools/tool.ts";

export type JudgedTools = {
  offered: readonly Tool[];
  /** Tool name → the answer to a call of a tool that the agent does not have. */
  refusals: ReadonlyMap<string, string>;
};

export function judgeCoreTools(agent: ScopedAgent, tools: readonly Tool[]): JudgedTools {
  const decide = scopeOf(agent);
  const offered: Tool[] = [];
  const refusals = new Map<string, string>();
  for (const tool of tools) {
    const needs = knownTools.find((known) => known.name === tool.name)?.needs ?? "full";
    const decision = decide({
      name: tool.name,
      kind: "core",
      plugin: null,
      needs,
      required_agent: null,
      visible_to: [],
    });
    if (decision.allowed) offered.push(tool);
    else refusals.set(tool.name, JSON.stringify(decision.refusal));
  }
  return { offered, refusals };
}
