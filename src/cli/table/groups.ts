/** Commands about groups of sessions. */
import type { ArgumentSpec, CommandSpec } from "../spec.ts";

const heading = "Groups:";
const group: ArgumentSpec = { synopsis: "<group>", description: "a group's name" };

export const groupCommands: readonly CommandSpec[] = [
  {
    path: "group list",
    group: heading,
    summary: "List groups and how far their last broadcast is",
    examples: ["aegis group list"],
    run: async (cx) => (await import("../commands/group.ts")).groupList(cx),
  },
  {
    path: "group spawn",
    group: heading,
    summary: "Start sessions in a group, which is made if there is none of that name",
    arguments: [group, { synopsis: "[agent...]", description: "agents, one session each", complete: "agent" }],
    options: [
      { flags: "--preset <name>", description: "instead of agents: a preset of the configuration" },
      { flags: "--handle <handle>", description: "the handle, for a single agent" },
    ],
    examples: ["aegis group spawn reviewers coder coder critic", "aegis group spawn reviewers --preset review"],
    run: async (cx, input) =>
      (await import("../commands/group.ts")).groupSpawn(cx, {
        group: input.required("group"),
        agents: input.list("agent"),
        preset: input.text("preset"),
        handle: input.text("handle"),
      }),
  },
  {
    path: "group broadcast",
    group: heading,
    summary: "Ask every member the same; prints the broadcast's id",
    arguments: [group, { synopsis: "[objective]", description: "what to achieve; - or a pipe reads it" }],
    options: [
      { flags: "--format <text>", description: "what the reply should look like" },
      { flags: "--tools <text>", description: "which tools to use and how" },
      { flags: "--boundaries <text>", description: "what to leave alone" },
      { flags: "--id <broadcast>", description: "the broadcast's id (brd_…): sent twice, it is asked once" },
    ],
    examples: [
      'aegis group broadcast reviewers "find bugs in src/parser" --format "one line per bug"',
      "aegis group broadcast reviewers - < question.md",
    ],
    run: async (cx, input) =>
      (await import("../commands/group.ts")).groupBroadcast(cx, {
        group: input.required("group"),
        objective: input.text("objective"),
        outputFormat: input.text("format"),
        toolGuidance: input.text("tools"),
        boundaries: input.text("boundaries"),
        id: input.text("id"),
      }),
  },
  {
    path: "group wait",
    group: heading,
    summary: "Wait for the replies to the last broadcast and print what they come to",
    arguments: [group],
    options: [
      { flags: "--any", description: "wait for the first good reply only, and stop the other members" },
      { flags: "--keep-losers", description: "with --any: let the other members go on" },
      { flags: "--timeout <time>", description: "how long to wait, as in 90s or 10m", value: "duration" },
      {
        flags: "--reducer <name>",
        description: "how the replies become one",
        complete: ["concat", "join_by_handle", "last_wins", "majority_vote"],
      },
      { flags: "--broadcast <id>", description: "an earlier broadcast (brd_…)" },
    ],
    examples: ["aegis group wait reviewers --timeout 5m", "aegis group wait reviewers --any"],
    run: async (cx, input) =>
      (await import("../commands/group.ts")).groupWait(cx, {
        group: input.required("group"),
        any: input.flag("any"),
        keepLosers: input.flag("keepLosers"),
        timeoutMs: input.number("timeout"),
        reducer: input.text("reducer"),
        broadcast: input.text("broadcast"),
      }),
  },
  {
    path: "group status",
    group: heading,
    summary: "Show the members and who has replied",
    arguments: [group],
    examples: ["aegis group status reviewers"],
    run: async (cx, input) =>
      (await import("../commands/group.ts")).groupStatus(cx, { group: input.required("group") }),
  },
  {
    path: "group dissolve",
    group: heading,
    summary: "Close the members and free the name",
    arguments: [group],
    examples: ["aegis group dissolve reviewers"],
    run: async (cx, input) =>
      (await import("../commands/group.ts")).groupDissolve(cx, { group: input.required("group") }),
  },
];
