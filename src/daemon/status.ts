/** What the daemon says about itself. */
import type { Status } from "../contract/api.ts";
import { type AgentRegistry, offlineHarness } from "../runtime/registry/agents.ts";
import type { Foundation } from "./foundation.ts";
import { untrustedLine } from "./trust/gate.ts";

export type Standing = { url: string; startedAt: number; stopping: boolean; agents: AgentRegistry };

export async function readStatus(foundation: Foundation, standing: Standing): Promise<Status> {
  const { root, version, keeper, store } = foundation;
  const [sessions, pending, lastSeq, health] = await Promise.all([
    store.read.sessions.countByState(),
    store.read.messages.pendingBySession(),
    store.read.events.lastSeq(),
    store.health(),
  ]);
  const { choice } = standing.agents;
  return {
    version,
    pid: process.pid,
    url: standing.url,
    project: root,
    started_at: standing.startedAt,
    state: standing.stopping ? "stopping" : "running",
    default_agent: choice.slug,
    agent_choice: choice.why,
    offline: standing.agents.loadAgent(choice.slug)?.harness === offlineHarness,
    sessions,
    pending_messages: [...pending.values()].reduce((sum, count) => sum + count, 0),
    last_seq: lastSeq,
    memory_bytes: process.memoryUsage.rss(),
    store: { path: health.path, bytes: health.bytes, schema: health.schema, writable: health.writable },
    untrusted: keeper.current.untrusted.map(untrustedLine),
    config_problems: [...keeper.problems, ...health.problems],
  };
}
