/** Commands about the daemon. */
import type { CommandSpec, Input, OptionSpec } from "../spec.ts";

const group = "The daemon:";

const startOptions: readonly OptionSpec[] = [
  { flags: "--agent <name>", description: "the agent that answers when none is named", complete: "agent" },
  { flags: "--port <number>", description: "listen on this port instead of a free one", value: "count" },
  { flags: "--bind <address>", description: "listen on this address instead of 127.0.0.1" },
  { flags: "--allow-remote", description: "really listen beyond this machine" },
];

export const daemonCommands: readonly CommandSpec[] = [
  {
    path: "up",
    group,
    summary: "Bring the daemon up",
    options: [
      { flags: "--attach", description: "stay: chat in a terminal, print events elsewhere; stop what was started" },
      { flags: "-y, --yes", description: "agree to what this folder's files would run" },
      ...startOptions,
    ],
    examples: ["aegis up", "aegis up --attach"],
    run: async (cx, input) =>
      (await import("../commands/up.ts")).up(cx, {
        attach: input.flag("attach"),
        yes: input.flag("yes"),
        ...daemonOptions(input),
      }),
  },
  {
    path: "down",
    group,
    summary: "Stop the daemon; turns under way may finish first",
    options: [
      { flags: "--force", description: "cut turns at once, and kill the daemon if it does not stop" },
      { flags: "--timeout <time>", description: "how long to wait (default 30s)", value: "duration" },
    ],
    examples: ["aegis down", "aegis down --force --timeout 5s"],
    run: async (cx, input) =>
      (await import("../commands/down.ts")).down(cx, {
        force: input.flag("force"),
        timeoutMs: input.number("timeout"),
      }),
  },
  {
    path: "serve",
    group,
    summary: "Run the daemon in the foreground",
    options: startOptions,
    examples: ["aegis serve", "aegis serve --port 4321"],
    run: async (cx, input) => (await import("../commands/serve.ts")).serve(cx, daemonOptions(input)),
  },
  {
    path: "status",
    group,
    summary: "Show the daemon and what it holds",
    examples: ["aegis status", "aegis status --json"],
    run: async (cx) => (await import("../commands/status.ts")).status(cx),
  },
  {
    path: "logs",
    group,
    summary: "Show the daemon's log",
    options: [
      { flags: "-f, --follow", description: "go on as lines are written" },
      { flags: "-n, --lines <count>", description: "how many lines (default 50)", value: "count" },
    ],
    examples: ["aegis logs -f", "aegis logs -n 200"],
    run: async (cx, input) =>
      (await import("../commands/logs.ts")).logs(cx, { follow: input.flag("follow"), lines: input.number("lines") }),
  },
  {
    path: "doctor",
    group,
    summary: "Check everything Aegis depends on, and say how to repair it",
    options: [{ flags: "--fix", description: "repair what can be repaired safely" }],
    examples: ["aegis doctor", "aegis doctor --fix"],
    run: async (cx, input) => (await import("../commands/doctor.ts")).doctor(cx, { fix: input.flag("fix") }),
  },
];

function daemonOptions(input: Input) {
  return {
    agent: input.text("agent"),
    port: input.number("port"),
    bind: input.text("bind"),
    allowRemote: input.flag("allowRemote"),
  };
}
