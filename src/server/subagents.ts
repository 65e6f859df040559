import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type SubagentHandlers = Pick<
  Handlers,
  "listSubagents" | "getSubagent" | "killSubagent" | "listTrees" | "listPool"
>;

export function subagentHandlers({ subagents, pool }: Services): SubagentHandlers {
  return {
    listSubagents: async ({ query }) => ({ subagents: await subagents.list(query) }),
    getSubagent: async ({ path }) => ({ subagent: await subagents.view(path.run_id) }),
    killSubagent: ({ path }) => subagents.killRun(path.run_id),
    listTrees: () => subagents.trees(),
    listPool: async () => ({ max: pool.max, agents: await pool.list() }),
  };
}
