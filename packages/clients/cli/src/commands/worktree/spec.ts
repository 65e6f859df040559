/** Commands about the git worktrees of sessions. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const group = "Working copies:";

export const worktreeCommands = {
  list: command({
    path: "worktree list",
    group,
    summary: "List the worktrees of sessions",
    examples: ["aegis worktree list", "aegis worktree list --json"],
    run: (cx, args): Exit => import("./worktree.ts").then((it) => it.list(cx, args)),
  }),
  remove: command({
    path: "worktree remove",
    group,
    summary: "Remove the worktree of a closed session; its files are rescued first",
    arguments: { session: argument("<session>", "a session's handle or id", "session") },
    examples: ["aegis worktree remove lucid-knuth"],
    run: (cx, args): Exit => import("./worktree.ts").then((it) => it.remove(cx, args)),
  }),
};

const rescue = argument("<rescue>", "a rescue's id, or a session's handle for its newest one");

export const rescueCommands = {
  list: command({
    path: "rescue list",
    group,
    summary: "List the rescued work of removed worktrees",
    examples: ["aegis rescue list", "aegis rescue list --json"],
    run: (cx, args): Exit => import("./rescue.ts").then((it) => it.list(cx, args)),
  }),
  show: command({
    path: "rescue show",
    group,
    summary: "Show what a rescue contains",
    arguments: { rescue },
    examples: ["aegis rescue show lucid-knuth"],
    run: (cx, args): Exit => import("./rescue.ts").then((it) => it.show(cx, args)),
  }),
  restore: command({
    path: "rescue restore",
    group,
    summary: "Restore a rescue, with its index, into a new worktree",
    arguments: { rescue },
    options: { to: option.text("--to <folder>", "a folder that does not exist yet", "file") },
    examples: ["aegis rescue restore lucid-knuth", "aegis rescue restore lucid-knuth --to ../restored"],
    run: (cx, args): Exit => import("./rescue.ts").then((it) => it.restore(cx, args)),
  }),
  prune: command({
    path: "rescue prune",
    group,
    summary: "Drop old rescues for good",
    options: {
      days: option.count("--days <count>", "drop rescues that are older than this many days", { default: 90 }),
      yes: option.flag("-y, --yes", "do not ask"),
    },
    examples: ["aegis rescue prune", "aegis rescue prune --days 30"],
    run: (cx, args): Exit => import("./rescue.ts").then((it) => it.prune(cx, args)),
  }),
};

export const receiptCommands = {
  list: command({
    path: "receipts",
    group,
    summary: "List the checks that Aegis ran, and whether their results still hold",
    arguments: { of: argument("[of]", "a session, task, subagent, run or landing; without it, all", "session") },
    options: {
      limit: option.count("-n, --limit <count>", "how many", { default: 20 }),
      output: option.flag("--output", "also show the end of the output of each check"),
    },
    examples: ["aegis receipts", "aegis receipts lucid-knuth --output", "aegis receipts --json"],
    run: (cx, args): Exit => import("./receipts.ts").then((it) => it.receipts(cx, args)),
  }),
};

export const landCommands = {
  land: command({
    path: "land",
    group,
    summary: "Land the work of a session in a worktree on its branch",
    arguments: { session: argument("[session]", "a session's handle or id; without it, list landings", "session") },
    options: {
      squash: option.flag("--squash", "as one commit (the default)"),
      merge: option.flag("--merge", "with a merge commit"),
      rebase: option.flag("--rebase", "commit by commit on top of the branch"),
      check: option.text(
        "--check <command>",
        "a command that must succeed on the merged files before the branch moves",
      ),
      message: option.text("-m, --message <text>", "the message of the commit; default: the title and the last answer"),
      to: option.text("--to <branch>", "the branch; default: the one from which the worktree started"),
    },
    examples: ['aegis land lucid-knuth --check "npm test"', "aegis land lucid-knuth --rebase --to main", "aegis land"],
    run: (cx, args): Exit => import("./land.ts").then((it) => it.land(cx, args)),
  }),
};

export const claimCommands = {
  claims: command({
    path: "claims",
    group,
    summary: "List the files that sessions have claimed in the shared folder",
    examples: ["aegis claims", "aegis claims --json"],
    run: (cx, args): Exit => import("./worktree.ts").then((it) => it.claims(cx, args)),
  }),
};
