/** Takes the snapshot of a session's rights that is stored with everything it starts. */
import { type Agent, unsaidAgentFields } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Run } from "@aegis/contract/run.ts";
import type { Starter, StarterAgent } from "@aegis/contract/starter.ts";
import type { SessionRow, StoreReads } from "@aegis/store/store.ts";
import type { AgentTable } from "../agent-table.ts";
import { confinementsOf, limitedAgent } from "../limits.ts";
import { treePositionOf } from "./tree-position.ts";

export async function starterOf(from: StoreReads, session: SessionId, agents: AgentTable): Promise<Starter> {
  const row = await from.sessions.get(session);
  if (row === null) throw new AegisError("not_found", `no session ${session}`);
  const { root } = await treePositionOf(from, session);
  const agent = starterAgent(row, agents.loadAgent(row.agent));
  return { session, root, depth: row.depth, agent, limits: row.limits };
}

/** A run from a version that stored no starter gets the current rights of its host session. */
export async function starterOfRun(
  from: StoreReads,
  run: Pick<Run, "starter" | "host">,
  agents: AgentTable,
): Promise<Starter | null> {
  return run.starter ?? (run.host === null ? null : starterOf(from, run.host, agents));
}

function starterAgent(row: SessionRow, agent: Agent | null): StarterAgent {
  const limited = limitedAgent(agent ?? lostAgent(row.agent), row.limits);
  const { slug, source, plugin, overrides, permission, tools, deny_tools, subagents, may_end } = limited;
  const { within, needs_at_most } = limited;
  const confinements = confinementsOf(limited);
  return {
    slug,
    source,
    plugin,
    overrides,
    permission,
    tools,
    deny_tools,
    subagents,
    may_end,
    ...(within === undefined ? {} : { within }),
    ...(needs_at_most === undefined ? {} : { needs_at_most }),
    ...(confinements.every(({ sandbox, allow }) => sandbox === null && allow === null)
      ? {}
      : { confined_within: confinements }),
  };
}

/** A session whose agent no longer exists passes on only `read`. */
function lostAgent(ref: string): Agent {
  const unknown = { description: "", harness: "", permission: "read", source: "builtin" } as const;
  return { ...unsaidAgentFields, ...unknown, slug: ref, ref };
}
