/** Commands about the daemon. */
import { command, type Exit, option } from "../../program/command.ts";

const group = "The daemon:";
const agent = option.text("--agent <name>", "the agent that answers when none is named", "agent");
const port = option.count("--port <number>", "listen on this port instead of a free one");
const bind = option.text("--bind <address>", "listen on this address instead of 127.0.0.1");
const allowRemote = option.flag("--allow-remote", "allow listening on an address that other machines can reach");

export const daemonCommands = {
  up: command({
    path: "up",
    group,
    summary: "Start the daemon",
    options: {
      attach: option.flag(
        "--attach",
        "stay attached: chat in a terminal, or print events; stops a daemon that it started",
      ),
      yes: option.flag("-y, --yes", "trust what this folder's files would run"),
      agent,
      port,
      bind,
      allowRemote,
    },
    examples: ["aegis up", "aegis up --attach"],
    run: (cx, args): Exit => import("./up.ts").then((it) => it.up(cx, args)),
  }),
  down: command({
    path: "down",
    group,
    summary: "Stop the daemon after running turns finish",
    options: {
      force: option.flag(
        "--force",
        "interrupt running turns, kill the daemon if it does not stop, and kill left-over processes",
      ),
      timeoutMs: option.duration("--timeout <time>", "how long to wait (default 30s)"),
    },
    examples: ["aegis down", "aegis down --force --timeout 5s"],
    run: (cx, args): Exit => import("./down.ts").then((it) => it.down(cx, args)),
  }),
  serve: command({
    path: "serve",
    group,
    summary: "Run the daemon in the foreground",
    options: { agent, port, bind, allowRemote },
    examples: ["aegis serve", "aegis serve --port 4321"],
    run: (cx, args): Exit => import("./serve.ts").then((it) => it.serve(cx, args)),
  }),
  serviceInstall: command({
    path: "service install",
    summary: "Keep this project's daemon running over reboots",
    options: { print: option.flag("--print", "print the file for the service manager, and change nothing") },
    examples: ["aegis service install", "aegis service install --print"],
    run: (cx, args): Exit => import("./service.ts").then((it) => it.install(cx, args)),
  }),
  serviceStatus: command({
    path: "service status",
    summary: "Show whether the service is installed and runs",
    examples: ["aegis service status", "aegis service status --json"],
    run: (cx, args): Exit => import("./service.ts").then((it) => it.status(cx, args)),
  }),
  serviceUninstall: command({
    path: "service uninstall",
    summary: "Stop the service and remove its file",
    examples: ["aegis service uninstall"],
    run: (cx, args): Exit => import("./service.ts").then((it) => it.uninstall(cx, args)),
  }),
  status: command({
    path: "status",
    group,
    summary: "Show the daemon's status",
    examples: ["aegis status", "aegis status --json"],
    run: (cx): Exit => import("./status.ts").then((it) => it.status(cx)),
  }),
  logs: command({
    path: "logs",
    group,
    summary: "Show the daemon's log",
    options: {
      follow: option.flag("-f, --follow", "follow the log"),
      lines: option.count("-n, --lines <count>", "how many lines", { default: 50 }),
    },
    examples: ["aegis logs -f", "aegis logs -n 200"],
    run: (cx, args): Exit => import("./logs.ts").then((it) => it.logs(cx, args)),
  }),
  doctor: command({
    path: "doctor",
    group,
    summary: "Check everything Aegis depends on, and suggest repairs",
    options: { fix: option.flag("--fix", "repair what can be repaired safely") },
    examples: ["aegis doctor", "aegis doctor --fix"],
    run: (cx, args): Exit => import("./doctor.ts").then((it) => it.doctor(cx, args)),
  }),
  audit: command({
    path: "audit",
    group,
    summary: "Show permissions, trusted items and security findings",
    options: {
      failOn: option.choice(
        "--fail-on <level>",
        "exit with 1 if a finding has this level or a higher one: high, medium or low",
        ["high", "medium", "low"],
      ),
    },
    examples: ["aegis audit", "aegis audit --json", "aegis audit --fail-on high"],
    run: (cx, args): Exit => import("./audit.ts").then((it) => it.audit(cx, args)),
  }),
};
