/** Commands about workflows and their runs. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../spec.ts";

const group = "Workflows:";
const workflow: ArgumentSpec = { synopsis: "<workflow>", description: "a workflow's name" };
const run: ArgumentSpec = { synopsis: "<run>", description: "a run's id, or the end of it" };
const limit = (preset: number): OptionSpec => ({
  flags: "-n, --limit <count>",
  description: `how many (default ${preset})`,
  value: "count",
});

export const workflowCommands: readonly CommandSpec[] = [
  {
    path: "workflow list",
    group,
    summary: "List the workflows that can be run",
    examples: ["aegis workflow list"],
    run: async (cx) => (await import("../commands/workflow.ts")).list(cx),
  },
  {
    path: "workflow show",
    group,
    summary: "Show what a workflow takes",
    arguments: [workflow],
    examples: ["aegis workflow show tdd_cycle"],
    run: async (cx, input) =>
      (await import("../commands/workflow.ts")).show(cx, { workflow: input.required("workflow") }),
  },
  {
    path: "workflow run",
    group,
    summary: "Run a workflow and watch it; Ctrl-C leaves it running",
    arguments: [workflow, { synopsis: "[arguments...]", description: "its arguments: --name value" }],
    options: [
      { flags: "--kwargs <json>", description: "its arguments as a JSON object" },
      { flags: "--host <session>", description: "the session it works for", complete: "session" },
      { flags: "--detach", description: "print the run's id and leave" },
    ],
    examples: [
      "aegis workflow run tdd_cycle --help   # what it takes",
      "aegis workflow run tdd_cycle --feature 'a greeting' --test-path test/hello.test.js",
      'aegis workflow run review_branch --kwargs \'{"base": "main"}\' --detach',
    ],
    open: true,
    run: async (cx, input) =>
      (await import("../commands/workflow-run.ts")).run(cx, {
        workflow: input.required("workflow"),
        arguments: input.list("arguments"),
        kwargs: input.text("kwargs"),
        host: input.text("host"),
        detach: input.flag("detach"),
      }),
  },
  {
    path: "workflow status",
    group,
    summary: "Show a run and how far it is, or list the newest runs",
    arguments: [{ ...run, synopsis: "[run]" }],
    options: [limit(20)],
    examples: ["aegis workflow status", "aegis workflow status 0abcdef"],
    run: async (cx, input) =>
      (await import("../commands/workflow.ts")).status(cx, { run: input.text("run"), limit: input.number("limit") }),
  },
  {
    path: "workflow watch",
    group,
    summary: "Watch a run until it ends",
    arguments: [run],
    examples: ["aegis workflow watch 0abcdef"],
    run: async (cx, input) => (await import("../commands/workflow-run.ts")).watch(cx, { run: input.required("run") }),
  },
  {
    path: "workflow logs",
    group,
    summary: "Print what a run logged and its commands wrote",
    arguments: [run],
    examples: ["aegis workflow logs 0abcdef"],
    run: async (cx, input) => (await import("../commands/workflow.ts")).logs(cx, { run: input.required("run") }),
  },
  {
    path: "workflow resume",
    group,
    summary: "Take a parked run up again, or send a failed one back to its last checkpoint",
    arguments: [run],
    options: [{ flags: "--force", description: "set aside what is on record and no longer fits its code" }],
    examples: ["aegis workflow resume 0abcdef"],
    run: async (cx, input) =>
      (await import("../commands/workflow.ts")).resume(cx, { run: input.required("run"), force: input.flag("force") }),
  },
  {
    path: "workflow cancel",
    group,
    summary: "Cancel a run: its steps are cut, its sessions closed",
    arguments: [run],
    examples: ["aegis workflow cancel 0abcdef"],
    run: async (cx, input) => (await import("../commands/workflow.ts")).cancel(cx, { run: input.required("run") }),
  },
  {
    path: "workflow fork",
    group,
    summary: "Start a new run from a checkpoint of another one",
    arguments: [run],
    options: [
      {
        flags: "--checkpoint <count>",
        description: "how many checkpoints to keep; if absent, all that its code still fits",
        value: "count",
      },
    ],
    examples: ["aegis workflow fork 0abcdef --checkpoint 2"],
    run: async (cx, input) =>
      (await import("../commands/workflow.ts")).fork(cx, {
        run: input.required("run"),
        checkpoint: input.number("checkpoint"),
      }),
  },
  {
    path: "workflow history",
    group,
    summary: "Show the steps of a run in order",
    arguments: [run],
    options: [limit(10_000)],
    examples: ["aegis workflow history 0abcdef"],
    run: async (cx, input) =>
      (await import("../commands/workflow.ts")).history(cx, {
        run: input.required("run"),
        limit: input.number("limit"),
      }),
  },
];
