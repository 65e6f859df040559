import type { Nodes } from "@aegis/cluster/nodes.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. `nodes` is null without a cluster. */
export type NodeServices = { nodes: Pick<Nodes, "list" | "drain" | "resume" | "forget"> | null };

export function nodeHandlers({ nodes }: NodeServices) {
  const required = () => {
    if (nodes !== null) return nodes;
    throw new AegisError("conflict", "this project has no cluster: its database is embedded", {
      hint: "docs/cluster.md explains how to set up a cluster",
    });
  };
  return {
    listNodes: async () => ({ nodes: nodes === null ? [] : await nodes.list() }),
    drainNode: async ({ path }) => ({ node: await required().drain(path.node) }),
    resumeNode: async ({ path }) => ({ node: await required().resume(path.node) }),
    forgetNode: async ({ path }) => required().forget(path.node),
  } satisfies Partial<Handlers>;
}
