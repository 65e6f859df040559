/** Commands about who started whom, and about agents that are kept for the next task. */
import type { CommandSpec } from "../spec.ts";

const group = "Sessions:";

export const subagentCommands: readonly CommandSpec[] = [
  {
    path: "tree",
    group,
    summary: "Show sessions with the subagents below them",
    arguments: [{ synopsis: "[session]", description: "only what is below this session", complete: "session" }],
    options: [{ flags: "-a, --all", description: "also sessions that are closed and subagents that were cleaned up" }],
    examples: ["aegis tree", "aegis tree lucid-knuth --all", "aegis tree --json"],
    run: async (cx, input) =>
      (await import("../commands/tree.ts")).tree(cx, { session: input.text("session"), all: input.flag("all") }),
  },
  {
    path: "kill",
    group,
    summary: "End a subagent and everything below it",
    arguments: [{ synopsis: "<run>", description: "the run's id, as shown by aegis tree" }],
    examples: ["aegis kill 3f9a1c0b7e2d"],
    run: async (cx, input) => (await import("../commands/tree.ts")).kill(cx, { run: input.required("run") }),
  },
  {
    path: "pool",
    group,
    summary: "List the agents that are kept for the next task",
    examples: ["aegis pool", "aegis pool --json"],
    run: async (cx) => (await import("../commands/pool.ts")).pool(cx),
  },
];
