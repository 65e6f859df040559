/** Commands about schedules and their firings. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const schedule = argument("<schedule>", "a schedule's name", "schedule");

export const scheduleCommands = {
  list: command({
    path: "schedule list",
    summary: "List schedules and their next firings",
    examples: ["aegis schedule list"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.list(cx, args)),
  }),
  show: command({
    path: "schedule show",
    summary: "Show a schedule's action, times and status",
    arguments: { schedule },
    examples: ["aegis schedule show nightly"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.show(cx, args)),
  }),
  add: command({
    path: "schedule add",
    summary: "Add a schedule in its own file",
    arguments: { name: argument("<name>", "its name") },
    options: {
      workflow: option.text("--workflow <name>", "run this workflow"),
      args: option.text("--args <json>", "its arguments, as a JSON object"),
      queue: option.text("--queue <queue>", "add a task to this queue", "queue"),
      payload: option.text("--payload <text>", "the task"),
      agent: option.text("--agent <agent>", "start a session of this agent", "agent"),
      prompt: option.text("--prompt <text>", "the prompt for the session"),
      cron: option.text("--cron <fields>", "minute hour day month weekday, as in '0 9 * * 1-5'"),
      at: option.text("--at <time>", "once at this time, as in 2030-01-31T09:00"),
      inMs: option.duration("--in <time>", "once after this time, as in 10m"),
      timezone: option.text("--timezone <zone>", "time zone, as in Europe/Berlin (default: this machine's)"),
      once: option.flag("--once", "fire only once"),
      fires: option.count("--fires <count>", "number of firings"),
      until: option.text("--until <time>", "fire until this time"),
      onOverlap: option.choice(
        "--on-overlap <policy>",
        "what to do while an earlier firing is running: skip (default), queue or kill",
        ["skip", "queue", "kill"],
      ),
      missed: option.choice(
        "--missed <policy>",
        "what to do about firings missed while Aegis was down: skip (default), once or all",
        ["skip", "once", "all"],
      ),
      timeoutMs: option.duration("--timeout <time>", "time limit of a firing, as in 30m"),
      disabled: option.flag("--disabled", "add it disabled"),
    },
    examples: [
      "aegis schedule add standup --agent dev --prompt 'What changed since yesterday?' --cron '0 9 * * 1-5'",
      "aegis schedule add reviews --queue reviews --payload 'review the last commits' --cron '0 3 * * *' --missed once",
      "aegis schedule add reminder --agent dev --prompt 'remind me of the release' --in 2h",
    ],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.add(cx, args)),
  }),
  run: command({
    path: "schedule run",
    summary: "Fire a schedule now, without counting the firing towards its lifecycle",
    arguments: { schedule },
    options: { wait: option.flag("--wait", "wait for it to end and show the result") },
    examples: ["aegis schedule run nightly", "aegis schedule run nightly --wait"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.run(cx, args)),
  }),
  enable: command({
    path: "schedule enable",
    summary: "Enable a schedule in the file that declares it",
    arguments: { schedule },
    examples: ["aegis schedule enable nightly"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.setEnabled(cx, { ...args, enabled: true })),
  }),
  disable: command({
    path: "schedule disable",
    summary: "Disable a schedule in the file that declares it",
    arguments: { schedule },
    examples: ["aegis schedule disable nightly"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.setEnabled(cx, { ...args, enabled: false })),
  }),
  remove: command({
    path: "schedule remove",
    summary: "Remove a schedule; work that it started continues",
    arguments: { schedule },
    examples: ["aegis schedule remove nightly"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.remove(cx, args)),
  }),
  logs: command({
    path: "schedule logs",
    summary: "Show past firings and why any were skipped",
    arguments: { schedule: argument("[schedule]", "a schedule's name", "schedule") },
    options: { limit: option.count("-n, --limit <count>", "how many", { default: 20 }) },
    examples: ["aegis schedule logs nightly", "aegis schedule logs -n 100"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.logs(cx, args)),
  }),
  next: command({
    path: "schedule next",
    summary: "Show a schedule's next firings in its time zone and yours",
    arguments: { schedule },
    options: { count: option.count("-n, --count <count>", "how many", { default: 5 }) },
    examples: ["aegis schedule next nightly -n 5"],
    run: (cx, args): Exit => import("./schedule.ts").then((it) => it.next(cx, args)),
  }),
};
