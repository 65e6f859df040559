/** The endpoints of the nodes of a cluster. */
import { z } from "zod";
import { endpoint } from "./api-parts.ts";
import { nodeViewSchema } from "./node.ts";

const nodePath = z.object({ node: z.string().describe("a node's name") });

export const nodeEndpoints = {
  listNodes: endpoint("List the nodes of the cluster; none without a cluster", {
    output: z.object({ nodes: z.array(nodeViewSchema) }),
  }),
  drainNode: endpoint("Give a node no new work; its idle sessions move to other nodes", {
    path: nodePath,
    output: z.object({ node: nodeViewSchema }),
  }),
  resumeNode: endpoint("Let a drained node take work again", {
    path: nodePath,
    output: z.object({ node: nodeViewSchema }),
  }),
  forgetNode: endpoint(
    "Remove a lost node; its sessions continue on the node that answers, without the memory that was on its disk",
    { path: nodePath, output: z.object({ moved: z.int() }) },
  ),
};
