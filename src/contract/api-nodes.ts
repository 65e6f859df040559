/** The endpoints of the nodes of a cluster. */
import { z } from "zod";
import { type Endpoint, none } from "./api-parts.ts";
import { nodeViewSchema } from "./node.ts";

const nodePath = z.object({ node: z.string().describe("a node's name") });

export const nodeEndpoints = {
  listNodes: {
    summary: "List the nodes of the cluster; none without a cluster",
    path: none,
    query: none,
    body: none,
    output: z.object({ nodes: z.array(nodeViewSchema) }),
  },
  drainNode: {
    summary: "Give a node no new work; its idle sessions move to other nodes",
    path: nodePath,
    query: none,
    body: none,
    output: z.object({ node: nodeViewSchema }),
  },
  resumeNode: {
    summary: "Let a drained node take work again",
    path: nodePath,
    query: none,
    body: none,
    output: z.object({ node: nodeViewSchema }),
  },
  forgetNode: {
    summary: "Remove a lost node; its sessions go on at the node that answers, without the memory that was on its disk",
    path: nodePath,
    query: none,
    body: none,
    output: z.object({ moved: z.number().int() }),
  },
} as const satisfies Record<string, Endpoint>;
