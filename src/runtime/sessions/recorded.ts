/** The recorded part of a session's view: the usage of its turns, its context, and whether its agent still exists. */
import type { SessionView } from "../../contract/session.ts";
import type { SessionRow, StoreReads } from "../../store/store.ts";
import { missingAgent } from "../tables/agent-problems.ts";
import type { AgentTable } from "../tables/agents.ts";

export async function recordedView(
  read: Pick<StoreReads, "turns" | "events" | "worktrees">,
  row: SessionRow,
  agents: AgentTable,
): Promise<
  Pick<SessionView, "usage" | "context" | "agent_problem" | "worktree" | "model" | "last_turn_at" | "changes">
> {
  const [usage, [turn], [last], [changed]] = await Promise.all([
    read.turns.usage(row.id),
    read.turns.list(row.id, 1),
    read.events.list({ session: row.id, types: ["turn.context"], limit: 1, from: "newest" }),
    read.events.list({ session: row.id, types: ["changes.recorded"], limit: 1, from: "newest" }),
  ]);
  const context = last?.type === "turn.context" ? { used: last.data.used, size: last.data.size } : null;
  const found = await read.worktrees.get(row.id);
  const worktree = found && {
    ...{ dir: found.dir, branch: found.branch, base: found.base },
    ...{ state: found.state, port: found.port, problem: found.problem },
  };
  const isGone = row.closed_at === null && agents.loadAgent(row.agent) === null;
  return {
    usage,
    context,
    agent_problem: isGone ? missingAgent(row.agent) : null,
    worktree,
    model: row.limits?.model ?? null,
    last_turn_at: turn === undefined ? null : (turn.ended_at ?? turn.started_at),
    changes: changed?.type === "changes.recorded" ? (changed.data.total ?? null) : null,
  };
}
