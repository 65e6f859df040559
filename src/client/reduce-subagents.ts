/** Applies events to subagents. */
import type { Event, EventOf } from "../contract/event.ts";
import type { State } from "./state.ts";

export type SubagentEvent = EventOf<"subagent.spawned" | "subagent.ended" | "subagent.forwarded" | "subagent.archived">;

export function isSubagentEvent(event: Event): event is SubagentEvent {
  return event.type.startsWith("subagent.");
}

/** Ignores a subagent whose start the client did not see; the list of subagents returns it. */
export function reduceSubagents(subagents: State["subagents"], event: SubagentEvent): State["subagents"] {
  if (event.type === "subagent.spawned") {
    return { ...subagents, [event.data.subagent.run_id]: event.data.subagent };
  }
  const { run_id } = event.data;
  const before = subagents[run_id];
  if (before === undefined) return subagents;
  switch (event.type) {
    case "subagent.ended": {
      const { status, result, error, announced_to, announcement } = event.data;
      const ended = { ...before, status, result, error, announced_to, announcement, ended_at: event.at };
      return { ...subagents, [run_id]: ended };
    }
    case "subagent.forwarded": {
      const { announced_to, announcement } = event.data;
      return { ...subagents, [run_id]: { ...before, announced_to, announcement } };
    }
    case "subagent.archived":
      return { ...subagents, [run_id]: { ...before, archived_at: event.at } };
  }
}
