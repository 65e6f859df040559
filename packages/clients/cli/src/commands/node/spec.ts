/** Commands about the nodes of a cluster. */
import { argument, command, type Exit } from "../../program/command.ts";

const node = argument("<node>", "a node's name, as `aegis nodes` shows it");

export const nodeCommands = {
  nodes: command({
    path: "nodes",
    group: "The daemon:",
    summary: "List the nodes of the cluster",
    examples: ["aegis nodes", "aegis nodes --json"],
    run: (cx, args): Exit => import("./nodes.ts").then((it) => it.nodes(cx, args)),
  }),
  drain: command({
    path: "node drain",
    summary: "Give a node no new work and move its idle sessions",
    arguments: { node },
    examples: ["aegis node drain builder-1"],
    run: (cx, args): Exit => import("./nodes.ts").then((it) => it.drain(cx, args)),
  }),
  resume: command({
    path: "node resume",
    summary: "Let a drained node take work again",
    arguments: { node },
    examples: ["aegis node resume builder-1"],
    run: (cx, args): Exit => import("./nodes.ts").then((it) => it.resume(cx, args)),
  }),
  forget: command({
    path: "node forget",
    summary: "Remove a lost node and continue its sessions here",
    arguments: { node },
    examples: ["aegis node forget builder-1"],
    run: (cx, args): Exit => import("./nodes.ts").then((it) => it.forget(cx, args)),
  }),
};
