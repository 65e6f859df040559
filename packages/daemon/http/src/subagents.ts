import type { Pool } from "@aegis/delegation/pool/pool.ts";
import type { Subagents } from "@aegis/delegation/subagents/subagents.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type SubagentServices = {
  subagents: Pick<Subagents, "list" | "view" | "killRun" | "trees">;
  pool: Pick<Pool, "max" | "list">;
};

export function subagentHandlers({ subagents, pool }: SubagentServices) {
  return {
    listSubagents: async ({ query }) => ({ subagents: await subagents.list(query) }),
    getSubagent: async ({ path }) => ({ subagent: await subagents.view(path.run_id) }),
    killSubagent: ({ path }) => subagents.killRun(path.run_id),
    listTrees: ({ query }) => subagents.trees(query.root),
    listPool: async () => ({ max: pool.max, agents: await pool.list() }),
  } satisfies Partial<Handlers>;
}
