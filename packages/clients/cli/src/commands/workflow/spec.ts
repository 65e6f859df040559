/** Commands about workflows and their runs. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const group = "Workflows:";
const workflow = argument("<workflow>", "a workflow's name");
const run = argument("<run>", "a run's id, or the end of it");

export const workflowCommands = {
  list: command({
    path: "workflow list",
    group,
    summary: "List the workflows that can be run",
    examples: ["aegis workflow list"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.list(cx, args)),
  }),
  show: command({
    path: "workflow show",
    group,
    summary: "Show a workflow's parameters",
    arguments: { workflow },
    examples: ["aegis workflow show tdd_cycle"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.show(cx, args)),
  }),
  run: command({
    path: "workflow run",
    group,
    summary: "Run a workflow and watch it; Ctrl-C leaves it running",
    arguments: { workflow, arguments: argument("[arguments...]", "its arguments: --name value") },
    options: {
      kwargs: option.text("--kwargs <json>", "its arguments as a JSON object"),
      host: option.text("--host <session>", "the session it works for", "session"),
      detach: option.flag("--detach", "print the run's id and return immediately"),
    },
    examples: [
      "aegis workflow run tdd_cycle --help   # what it takes",
      "aegis workflow run tdd_cycle --feature 'a greeting' --test-path test/hello.test.js",
      'aegis workflow run review_branch --kwargs \'{"base": "main"}\' --detach',
    ],
    open: true,
    run: (cx, args): Exit => import("./run.ts").then((it) => it.run(cx, args)),
  }),
  status: command({
    path: "workflow status",
    group,
    summary: "Show a run's progress, or list the newest runs",
    arguments: { run: argument("[run]", "a run's id, or the end of it") },
    options: { limit: option.count("-n, --limit <count>", "how many", { default: 20 }) },
    examples: ["aegis workflow status", "aegis workflow status 0abcdef"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.status(cx, args)),
  }),
  watch: command({
    path: "workflow watch",
    group,
    summary: "Watch a run until it ends",
    arguments: { run },
    examples: ["aegis workflow watch 0abcdef"],
    run: (cx, args): Exit => import("./run.ts").then((it) => it.watch(cx, args)),
  }),
  logs: command({
    path: "workflow logs",
    group,
    summary: "Print a run's log and the output of its commands",
    arguments: { run },
    examples: ["aegis workflow logs 0abcdef"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.logs(cx, args)),
  }),
  resume: command({
    path: "workflow resume",
    group,
    summary: "Resume a parked run, or restart a failed run from its last checkpoint",
    arguments: { run },
    options: { force: option.flag("--force", "discard recorded steps that no longer match the workflow's code") },
    examples: ["aegis workflow resume 0abcdef"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.resume(cx, args)),
  }),
  cancel: command({
    path: "workflow cancel",
    group,
    summary: "Cancel a run: stop its steps and close its sessions",
    arguments: { run },
    examples: ["aegis workflow cancel 0abcdef"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.cancel(cx, args)),
  }),
  fork: command({
    path: "workflow fork",
    group,
    summary: "Start a new run from a checkpoint of another one",
    arguments: { run },
    options: {
      checkpoint: option.count(
        "--checkpoint <count>",
        "how many checkpoints to keep; by default all that still match the code",
      ),
    },
    examples: ["aegis workflow fork 0abcdef --checkpoint 2"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.fork(cx, args)),
  }),
  history: command({
    path: "workflow history",
    group,
    summary: "Show the steps of a run in order",
    arguments: { run },
    options: { limit: option.count("-n, --limit <count>", "how many", { default: 10000 }) },
    examples: ["aegis workflow history 0abcdef"],
    run: (cx, args): Exit => import("./workflow.ts").then((it) => it.history(cx, args)),
  }),
};
