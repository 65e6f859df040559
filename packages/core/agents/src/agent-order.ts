/** Defines the precedence of agents with the same name. */
import {
  type AgentDiagnostic,
  type AgentIdentity,
  type AgentProfile,
  agentSourceSchema,
} from "@aegis/contract/agent.ts";

const sources = agentSourceSchema.options;

/** The source with the higher precedence comes first. Ties are broken by plugin and file, never by load order. */
export function compareCandidates(a: AgentProfile, b: AgentProfile): number {
  return (
    sources.indexOf(a.source) - sources.indexOf(b.source) ||
    compareText(a.plugin ?? "", b.plugin ?? "") ||
    compareText(a.file ?? "", b.file ?? "")
  );
}

export function identityOf({ source, plugin, slug }: AgentProfile): AgentIdentity {
  return { source, plugin, slug };
}

/** Reports a tie between the first two candidates. */
export function tieOf([first, second]: readonly AgentProfile[]): AgentDiagnostic | null {
  if (first === undefined || second === undefined || first.source !== second.source) return null;
  const { slug, plugin, file } = first;
  const message =
    plugin === null || second.plugin === null
      ? `the name "${slug}" is also in ${second.file ?? "another place"}; this file counts`
      : `the plugins "${plugin}" and "${second.plugin}" both have an agent "${slug}"; that of "${plugin}" is used, the other is ${second.plugin}:${slug}`;
  return { level: "warning", agent: slug, plugin, file, line: null, message };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
