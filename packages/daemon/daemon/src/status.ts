/** Builds the daemon's status for the API. */

import { type AgentTable, offlineHarness } from "@aegis/agents/agent-table.ts";
import type { Status } from "@aegis/contract/api.ts";
import { readLosses } from "@aegis/project/state/losses.ts";
import { untrustedLine } from "@aegis/project/trust/trusted-settings.ts";
import { type AttentionOptions, readAttention } from "./attention.ts";
import { readNeeds } from "./needs.ts";
import type { OpenProject } from "./open-project.ts";

export type RunningState = {
  url: string;
  startedAt: number;
  stopping: boolean;
  agents: AgentTable;
  missingGates: Status["missing_gates"];
  pluginsLoading: number;
  channels: Status["channels"];
} & Pick<AttentionOptions, "judge" | "plugins">;

export async function readStatus(project: OpenProject, running: RunningState): Promise<Status> {
  const { root, stateDir, version, configService, store, trust } = project;
  // Read before the states: a turn may take the pending messages in between.
  const pending = await store.read.messages.pendingBySession();
  const [sessions, lastSeq, health, needs_you, needs, usage] = await Promise.all([
    store.read.sessions.countByState(),
    store.read.events.lastSeq(),
    store.health(),
    needsYou(store),
    readNeeds(store.read),
    store.read.turns.usage(),
  ]);
  const untrusted = await configService.untrusted();
  const { agents, judge, plugins } = running;
  const { choice } = agents;
  return {
    version,
    pid: process.pid,
    url: running.url,
    project: root,
    started_at: running.startedAt,
    state: running.stopping ? "stopping" : "running",
    default_agent: choice.slug,
    agent_choice: choice.why,
    offline: agents.loadAgent(choice.slug)?.harness === offlineHarness,
    sessions,
    pending_messages: [...pending.values()].reduce((sum, count) => sum + count, 0),
    usage,
    needs_you,
    needs,
    last_seq: lastSeq,
    memory_bytes: process.memoryUsage.rss(),
    store: {
      path: health.path,
      bytes: health.bytes,
      schema: health.schema,
      writable: health.writable,
      database: health.database ?? null,
      losses: await readLosses(stateDir),
    },
    untrusted: untrusted.map(untrustedLine),
    attention: await readAttention({ root, trust: trust.trust, judge, untrusted, plugins }),
    plugins_loading: running.pluginsLoading,
    missing_gates: running.missingGates,
    channels: running.channels,
    config_problems: [...configService.problems, ...health.problems],
  };
}

async function needsYou({ read }: OpenProject["store"]): Promise<Status["needs_you"]> {
  const open = [...(await read.asks.openBySession())].sort(([, a], [, b]) => a.since - b.since);
  return Promise.all(
    open.map(async ([session, { asks, since }]) => {
      const row = await read.sessions.get(session);
      return { session, handle: row?.handle ?? session, title: row?.title ?? "", asks, since };
    }),
  );
}
