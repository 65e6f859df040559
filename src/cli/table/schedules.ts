/** Commands about schedules and their firings. */
import type { ArgumentSpec, CommandSpec } from "../spec.ts";

const schedule: ArgumentSpec = { synopsis: "<schedule>", description: "a schedule's name", complete: "schedule" };

export const scheduleCommands: readonly CommandSpec[] = [
  {
    path: "schedule list",
    summary: "List schedules and when they fire next",
    examples: ["aegis schedule list"],
    run: async (cx) => (await import("../commands/schedule.ts")).list(cx),
  },
  {
    path: "schedule show",
    summary: "Show what a schedule does, when, and how it stands",
    arguments: [schedule],
    examples: ["aegis schedule show nightly"],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).show(cx, { schedule: input.required("schedule") }),
  },
  {
    path: "schedule add",
    summary: "Add a schedule as a file of its own",
    arguments: [{ synopsis: "<name>", description: "its name" }],
    options: [
      { flags: "--workflow <name>", description: "run this workflow" },
      { flags: "--args <json>", description: "its arguments, as a JSON object" },
      { flags: "--queue <queue>", description: "put a task into this queue", complete: "queue" },
      { flags: "--payload <text>", description: "what the task is" },
      { flags: "--agent <agent>", description: "start a session of this agent", complete: "agent" },
      { flags: "--prompt <text>", description: "what it is asked" },
      { flags: "--cron <fields>", description: "minute hour day month weekday, as in '0 9 * * 1-5'" },
      { flags: "--at <time>", description: "once at this time, as in 2030-01-31T09:00" },
      { flags: "--in <time>", description: "once after this time, as in 10m", value: "duration" },
      { flags: "--timezone <zone>", description: "whose clocks count, as in Europe/Berlin (default: this machine's)" },
      { flags: "--once", description: "fire only once" },
      { flags: "--fires <count>", description: "fire this often", value: "count" },
      { flags: "--until <time>", description: "fire until this time" },
      {
        flags: "--on-overlap <policy>",
        description: "while an earlier firing is under way: skip (default), queue or kill",
        complete: ["skip", "queue", "kill"],
      },
      {
        flags: "--missed <policy>",
        description: "what passed while Aegis was down: skip (default), once or all",
        complete: ["skip", "once", "all"],
      },
      { flags: "--timeout <time>", description: "how long a firing may take, as in 30m", value: "duration" },
      { flags: "--disabled", description: "add it switched off" },
    ],
    examples: [
      "aegis schedule add standup --agent dev --prompt 'What changed since yesterday?' --cron '0 9 * * 1-5'",
      "aegis schedule add reviews --queue reviews --payload 'review the last commits' --cron '0 3 * * *' --missed once",
      "aegis schedule add reminder --agent dev --prompt 'remind me of the release' --in 2h",
    ],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).add(cx, {
        name: input.required("name"),
        workflow: input.text("workflow"),
        args: input.text("args"),
        queue: input.text("queue"),
        payload: input.text("payload"),
        agent: input.text("agent"),
        prompt: input.text("prompt"),
        cron: input.text("cron"),
        at: input.text("at"),
        inMs: input.number("in"),
        timezone: input.text("timezone"),
        once: input.flag("once"),
        fires: input.number("fires"),
        until: input.text("until"),
        onOverlap: input.text("onOverlap"),
        missed: input.text("missed"),
        timeoutMs: input.number("timeout"),
        disabled: input.flag("disabled"),
      }),
  },
  {
    path: "schedule run",
    summary: "Fire a schedule now; it does not count for its lifecycle",
    arguments: [schedule],
    options: [{ flags: "--wait", description: "wait for its end and show what came of it" }],
    examples: ["aegis schedule run nightly", "aegis schedule run nightly --wait"],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).run(cx, {
        schedule: input.required("schedule"),
        wait: input.flag("wait"),
      }),
  },
  {
    path: "schedule enable",
    summary: "Switch a schedule on, in the file that declares it",
    arguments: [schedule],
    examples: ["aegis schedule enable nightly"],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).setEnabled(cx, {
        schedule: input.required("schedule"),
        enabled: true,
      }),
  },
  {
    path: "schedule disable",
    summary: "Switch a schedule off, in the file that declares it",
    arguments: [schedule],
    examples: ["aegis schedule disable nightly"],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).setEnabled(cx, {
        schedule: input.required("schedule"),
        enabled: false,
      }),
  },
  {
    path: "schedule remove",
    summary: "Remove a schedule; what it started goes on",
    arguments: [schedule],
    examples: ["aegis schedule remove nightly"],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).remove(cx, { schedule: input.required("schedule") }),
  },
  {
    path: "schedule logs",
    summary: "Show what came of its slots, and why any were skipped",
    arguments: [{ ...schedule, synopsis: "[schedule]" }],
    options: [{ flags: "-n, --limit <count>", description: "how many (default 20)", value: "count" }],
    examples: ["aegis schedule logs nightly", "aegis schedule logs -n 100"],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).logs(cx, {
        schedule: input.text("schedule"),
        limit: input.number("limit"),
      }),
  },
  {
    path: "schedule next",
    summary: "Show when a schedule fires next, by its clocks and yours",
    arguments: [schedule],
    options: [{ flags: "-n, --count <count>", description: "how many (default 5)", value: "count" }],
    examples: ["aegis schedule next nightly -n 5"],
    run: async (cx, input) =>
      (await import("../commands/schedule.ts")).next(cx, {
        schedule: input.required("schedule"),
        count: input.number("count"),
      }),
  },
];
