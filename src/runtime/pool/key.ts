/** Computes which agents are interchangeable in the pool. */
import { createHash } from "node:crypto";
import type { Agent } from "../../contract/agent.ts";
import type { AgentKey } from "../../store/store.ts";

/** The identity and everything that affects the agent's work. A change makes it a different agent. */
export function agentKey(agent: Agent): AgentKey {
  const { source, plugin, slug, ref: _, overrides: __, description: ___, file: ____, on_crash: _____, ...work } = agent;
  const config_hash = createHash("sha256").update(JSON.stringify(work)).digest("hex").slice(0, 32);
  return { source, plugin, slug, config_hash };
}

export function sameKey(a: AgentKey, b: AgentKey): boolean {
  return a.source === b.source && a.plugin === b.plugin && a.slug === b.slug && a.config_hash === b.config_hash;
}

/** Only for display: `a` with `b-c` looks the same as `a-b` with `c`. */
export function shownKey({ plugin, slug }: Pick<AgentKey, "plugin" | "slug">): string {
  return plugin === null ? `agent-${slug}` : `plugin-${plugin}-${slug}`;
}
