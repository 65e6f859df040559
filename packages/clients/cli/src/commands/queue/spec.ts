/** Commands about queues and their tasks. */
import { argument, command, type Exit, option } from "../../program/command.ts";
import { checkLimits, queueCheck } from "./check-options.ts";

const queue = argument("<queue>", "a queue's name", "queue");
const task = argument("<task...>", "ids of tasks (tsk_…)", "task");
const task_ = argument("<task>", "a task's id (tsk_…)", "task");

export const queueCommands = {
  list: command({
    path: "queue list",
    summary: "List queues and their status",
    examples: ["aegis queue list"],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueList(cx, args)),
  }),
  add: command({
    path: "queue add",
    summary: "Add a queue",
    arguments: {
      name: argument("<queue>", "a queue's name", []),
      agent: argument("<agent>", "the agent that runs its tasks", "agent"),
    },
    options: {
      maxParallel: option.count("--max-parallel <count>", "maximum number of tasks at the same time (default 1)"),
      retries: option.count("--retries <count>", "how often to retry a failed task (default 0)"),
      timeoutMs: option.duration("--timeout <time>", "time limit of one attempt, as in 10m"),
      onCrash: option.choice(
        "--on-crash <policy>",
        "what to do with a task that a crash interrupted: retry (default) or fail",
        ["retry", "fail"],
      ),
      producers: option.list("--producers <agents...>", "the only agents that may add tasks; people always may", {
        complete: "agent",
      }),
      rights: option.choice(
        "--rights <whose>",
        "permissions of a worker: producer (default) limits them to the producer's, own gives all of its agent's",
        ["producer", "own"],
      ),
      nodes: option.list("--nodes <labels...>", "labels that the nodes of its workers must have"),
      ...queueCheck,
      budgets: option.list("--budget <limits...>", "budgets for its tasks, as in 5usd/1d or 200000tokens/1h"),
    },
    examples: [
      "aegis queue add reviews reviewer --max-parallel 2 --retries 1",
      "aegis queue add nightly dev --budget 5usd/1d",
    ],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueAdd(cx, args)),
  }),
  remove: command({
    path: "queue remove",
    summary: "Remove a queue that was added",
    arguments: { name: queue },
    options: { force: option.flag("--force", "cancel its unfinished tasks") },
    examples: ["aegis queue remove reviews", "aegis queue remove reviews --force"],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueRemove(cx, args)),
  }),
  enqueue: command({
    path: "queue enqueue",
    summary: "Add a task to a queue",
    arguments: { queue, payload: argument("[payload]", "the task; reads standard input with - or from a pipe") },
    options: {
      wait: option.flag("--wait", "wait for the result and show it"),
      timeoutMs: option.duration("--timeout <time>", "with --wait: stop waiting after this time; the task continues"),
      check: option.text(
        "--check <command>",
        "a command that must succeed before the task completes, instead of the queue's",
      ),
      ...checkLimits,
      key: option.text("--key <text>", "an idempotency key: the same key adds only one task"),
    },
    examples: [
      'aegis queue enqueue reviews "review the last commit"',
      'aegis queue enqueue fixes "fix the parser" --check "npm test"',
      "git diff | aegis queue enqueue reviews --wait",
    ],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueEnqueue(cx, args)),
  }),
  status: command({
    path: "queue status",
    summary: "Show a queue's tasks and budgets, or those of all queues",
    arguments: { queue: argument("[queue]", "a queue's name", "queue") },
    options: { failed: option.flag("--failed", "only tasks that failed and have no retries left") },
    examples: ["aegis queue status reviews", "aegis queue status --failed"],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueStatus(cx, args)),
  }),
  cancel: command({
    path: "queue cancel",
    summary: "Cancel pending or running tasks, or landings that wait",
    arguments: { tasks: argument("<task...>", "ids of tasks (tsk_…) or landings (lnd_…)", "task") },
    examples: [
      "aegis queue cancel tsk_01k5x0000000000000000000ab",
      "aegis queue cancel lnd_01k5x0000000000000000000ab",
    ],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueCancel(cx, args)),
  }),
  retry: command({
    path: "queue retry",
    summary: "Return failed or cancelled tasks to their queue",
    arguments: { tasks: task },
    examples: ["aegis queue retry tsk_01k5x0000000000000000000ab"],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueRetry(cx, args)),
  }),
  drain: command({
    path: "queue drain",
    summary: "Wait until a queue is empty",
    arguments: { queue },
    options: { timeoutMs: option.duration("--timeout <time>", "stop waiting after this time, as in 90s or 10m") },
    examples: ["aegis queue drain reviews --timeout 30m"],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueDrain(cx, args)),
  }),
  pause: command({
    path: "queue pause",
    summary: "Pause a queue: start no new tasks; running tasks continue",
    arguments: { queue },
    examples: ["aegis queue pause reviews"],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queuePause(cx, args)),
  }),
  resume: command({
    path: "queue resume",
    summary: "Resume a paused queue",
    arguments: { queue },
    examples: ["aegis queue resume reviews"],
    run: (cx, args): Exit => import("./queue.ts").then((it) => it.queueResume(cx, args)),
  }),
};

export const taskCommands = {
  list: command({
    path: "task list",
    summary: "List tasks, newest first",
    options: {
      queue: option.text("--queue <queue>", "only tasks of this queue", "queue"),
      status: option.choice("--status <status>", "pending, dispatched, completed, failed, cancelled", [
        "pending",
        "dispatched",
        "completed",
        "failed",
        "cancelled",
      ]),
      limit: option.count("-n, --limit <count>", "how many", { default: 50 }),
    },
    examples: ["aegis task list", "aegis task list --queue reviews --status failed"],
    run: (cx, args): Exit => import("./task.ts").then((it) => it.taskList(cx, args)),
  }),
  show: command({
    path: "task show",
    summary: "Show a task, its tries and its result",
    arguments: { task: task_ },
    examples: ["aegis task show tsk_01k5x0000000000000000000ab"],
    run: (cx, args): Exit => import("./task.ts").then((it) => it.taskShow(cx, args)),
  }),
  tail: command({
    path: "task tail",
    summary: "Watch a task's worker until the task ends",
    arguments: { task: task_ },
    examples: ["aegis task tail tsk_01k5x0000000000000000000ab"],
    run: (cx, args): Exit => import("./task.ts").then((it) => it.taskTail(cx, args)),
  }),
};
