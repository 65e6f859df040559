/** Commands about groups of sessions. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const heading = "Groups:";
const group = argument("<group>", "a group's name");

export const groupCommands = {
  list: command({
    path: "group list",
    group: heading,
    summary: "List groups and the progress of their last broadcasts",
    examples: ["aegis group list"],
    run: (cx, args): Exit => import("./group.ts").then((it) => it.groupList(cx, args)),
  }),
  spawn: command({
    path: "group spawn",
    group: heading,
    summary: "Start sessions in a group; creates the group if needed",
    arguments: { group, agents: argument("[agent...]", "agents, one session each", "agent") },
    options: {
      preset: option.text("--preset <name>", "use a preset of the configuration instead of agents"),
      handle: option.text("--handle <handle>", "the handle, for a single agent"),
    },
    examples: ["aegis group spawn reviewers coder coder critic", "aegis group spawn reviewers --preset review"],
    run: (cx, args): Exit => import("./group.ts").then((it) => it.groupSpawn(cx, args)),
  }),
  broadcast: command({
    path: "group broadcast",
    group: heading,
    summary: "Send every member the same request, and print the broadcast's id",
    arguments: { group, objective: argument("[objective]", "the request; reads standard input with - or from a pipe") },
    options: {
      outputFormat: option.text("--format <text>", "the format of the reply"),
      toolGuidance: option.text("--tools <text>", "which tools to use and how"),
      boundaries: option.text("--boundaries <text>", "what not to do or change"),
      id: option.text("--id <broadcast>", "an idempotency key: the broadcast's id (brd_…)"),
    },
    examples: [
      'aegis group broadcast reviewers "find bugs in src/parser" --format "one line per bug"',
      "aegis group broadcast reviewers - < question.md",
    ],
    run: (cx, args): Exit => import("./group.ts").then((it) => it.groupBroadcast(cx, args)),
  }),
  wait: command({
    path: "group wait",
    group: heading,
    summary: "Wait for the replies to the last broadcast and print the combined result",
    arguments: { group },
    options: {
      any: option.flag("--any", "wait only for the first successful reply, and stop the other members"),
      keepLosers: option.flag("--keep-losers", "with --any: do not stop the other members"),
      timeoutMs: option.duration("--timeout <time>", "how long to wait, as in 90s or 10m"),
      reducer: option.text("--reducer <name>", "how to combine the replies", [
        "concat",
        "join_by_handle",
        "last_wins",
        "majority_vote",
      ]),
      broadcast: option.text("--broadcast <id>", "an earlier broadcast (brd_…)"),
    },
    examples: ["aegis group wait reviewers --timeout 5m", "aegis group wait reviewers --any"],
    run: (cx, args): Exit => import("./group.ts").then((it) => it.groupWait(cx, args)),
  }),
  status: command({
    path: "group status",
    group: heading,
    summary: "Show the members and who has replied",
    arguments: { group },
    examples: ["aegis group status reviewers"],
    run: (cx, args): Exit => import("./group.ts").then((it) => it.groupStatus(cx, args)),
  }),
  dissolve: command({
    path: "group dissolve",
    group: heading,
    summary: "Close the group's members and free its name",
    arguments: { group },
    examples: ["aegis group dissolve reviewers"],
    run: (cx, args): Exit => import("./group.ts").then((it) => it.groupDissolve(cx, args)),
  }),
};
