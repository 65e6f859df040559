/** Commands about queues and their tasks. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../spec.ts";

const queue: ArgumentSpec = { synopsis: "<queue>", description: "a queue's name", complete: "queue" };
const task: ArgumentSpec = { synopsis: "<task>", description: "a task's id (tsk_…)", complete: "task" };
const tasks: ArgumentSpec = { synopsis: "<task...>", description: "ids of tasks (tsk_…)", complete: "task" };
const waitLimit: OptionSpec = {
  flags: "--timeout <time>",
  description: "stop waiting after this time, as in 90s or 10m",
  value: "duration",
};
const statuses = ["pending", "dispatched", "completed", "failed", "cancelled"] as const;

export const queueCommands: readonly CommandSpec[] = [
  {
    path: "queue list",
    summary: "List queues and how they stand",
    examples: ["aegis queue list"],
    run: async (cx) => (await import("../commands/queue.ts")).queueList(cx),
  },
  {
    path: "queue add",
    summary: "Add a queue that stays until it is removed",
    arguments: [
      { ...queue, complete: [] },
      { synopsis: "<agent>", description: "the agent whose sessions do its tasks", complete: "agent" },
    ],
    options: [
      { flags: "--max-parallel <count>", description: "tasks at the same time (default 1)", value: "count" },
      { flags: "--retries <count>", description: "how often a failed task is tried again (default 0)", value: "count" },
      { flags: "--timeout <time>", description: "how long one try may take, as in 10m", value: "duration" },
      {
        flags: "--on-crash <policy>",
        description: "what becomes of a task that a crash cut: retry (default) or fail",
        complete: ["retry", "fail"],
      },
      { flags: "--budget <limits...>", description: "what its tasks may use up, as in 5usd/1d or 200000tokens/1h" },
    ],
    examples: [
      "aegis queue add reviews reviewer --max-parallel 2 --retries 1",
      "aegis queue add nightly dev --budget 5usd/1d",
    ],
    run: async (cx, input) =>
      (await import("../commands/queue.ts")).queueAdd(cx, {
        name: input.required("queue"),
        agent: input.required("agent"),
        maxParallel: input.number("maxParallel"),
        retries: input.number("retries"),
        timeoutMs: input.number("timeout"),
        onCrash: input.text("onCrash"),
        budgets: input.list("budget"),
      }),
  },
  {
    path: "queue remove",
    summary: "Remove a queue that was added",
    arguments: [queue],
    options: [{ flags: "--force", description: "cancel its unfinished tasks" }],
    examples: ["aegis queue remove reviews", "aegis queue remove reviews --force"],
    run: async (cx, input) =>
      (await import("../commands/queue.ts")).queueRemove(cx, {
        name: input.required("queue"),
        force: input.flag("force"),
      }),
  },
  {
    path: "queue enqueue",
    summary: "Put a task into a queue",
    arguments: [queue, { synopsis: "[payload]", description: "what to do; - or a pipe reads it from standard input" }],
    options: [
      { flags: "--wait", description: "wait for the result and show it" },
      { ...waitLimit, description: "with --wait: stop waiting after this time; the task goes on" },
      { flags: "--key <text>", description: "the same key twice adds one task only" },
    ],
    examples: ['aegis queue enqueue reviews "review the last commit"', "git diff | aegis queue enqueue reviews --wait"],
    run: async (cx, input) =>
      (await import("../commands/queue.ts")).queueEnqueue(cx, {
        queue: input.required("queue"),
        payload: input.text("payload"),
        wait: input.flag("wait"),
        timeoutMs: input.number("timeout"),
        key: input.text("key"),
      }),
  },
  {
    path: "queue status",
    summary: "Show a queue's tasks and budgets, or those of all queues",
    arguments: [{ ...queue, synopsis: "[queue]" }],
    options: [{ flags: "--failed", description: "only the tasks that failed for good" }],
    examples: ["aegis queue status reviews", "aegis queue status --failed"],
    run: async (cx, input) =>
      (await import("../commands/queue.ts")).queueStatus(cx, {
        queue: input.text("queue"),
        failed: input.flag("failed"),
      }),
  },
  {
    path: "queue cancel",
    summary: "Cancel tasks that wait or are under way",
    arguments: [tasks],
    examples: ["aegis queue cancel tsk_01k5x0000000000000000000ab"],
    run: async (cx, input) => (await import("../commands/queue.ts")).queueCancel(cx, { tasks: input.list("task") }),
  },
  {
    path: "queue retry",
    summary: "Put tasks that failed or were cancelled back",
    arguments: [tasks],
    examples: ["aegis queue retry tsk_01k5x0000000000000000000ab"],
    run: async (cx, input) => (await import("../commands/queue.ts")).queueRetry(cx, { tasks: input.list("task") }),
  },
  {
    path: "queue drain",
    summary: "Wait until a queue has no task left",
    arguments: [queue],
    options: [waitLimit],
    examples: ["aegis queue drain reviews --timeout 30m"],
    run: async (cx, input) =>
      (await import("../commands/queue.ts")).queueDrain(cx, {
        queue: input.required("queue"),
        timeoutMs: input.number("timeout"),
      }),
  },
  {
    path: "queue pause",
    summary: "Start no more tasks of a queue; those under way go on",
    arguments: [queue],
    examples: ["aegis queue pause reviews"],
    run: async (cx, input) =>
      (await import("../commands/queue.ts")).queuePause(cx, { queue: input.required("queue"), paused: true }),
  },
  {
    path: "queue resume",
    summary: "Start tasks of a paused queue again",
    arguments: [queue],
    examples: ["aegis queue resume reviews"],
    run: async (cx, input) =>
      (await import("../commands/queue.ts")).queuePause(cx, { queue: input.required("queue"), paused: false }),
  },
  {
    path: "task list",
    summary: "List tasks, newest first",
    options: [
      { flags: "--queue <queue>", description: "only those of one queue", complete: "queue" },
      { flags: "--status <status>", description: statuses.join(", "), complete: statuses },
      { flags: "-n, --limit <count>", description: "how many (default 50)", value: "count" },
    ],
    examples: ["aegis task list", "aegis task list --queue reviews --status failed"],
    run: async (cx, input) =>
      (await import("../commands/task.ts")).taskList(cx, {
        queue: input.text("queue"),
        status: input.text("status"),
        limit: input.number("limit"),
      }),
  },
  {
    path: "task show",
    summary: "Show a task, its tries and its result",
    arguments: [task],
    examples: ["aegis task show tsk_01k5x0000000000000000000ab"],
    run: async (cx, input) => (await import("../commands/task.ts")).taskShow(cx, { task: input.required("task") }),
  },
  {
    path: "task tail",
    summary: "Watch a task's worker until the task ends",
    arguments: [task],
    examples: ["aegis task tail tsk_01k5x0000000000000000000ab"],
    run: async (cx, input) => (await import("../commands/task.ts")).taskTail(cx, { task: input.required("task") }),
  },
];
