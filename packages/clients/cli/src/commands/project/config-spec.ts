/** Commands that show and edit the configuration. They need no daemon. */
import { argument, command, type Exit, option } from "../../program/command.ts";
import { queueCheck } from "../queue/check-options.ts";

const key = argument("<key>", "as in server.port or agents.dev.model");
const agent = argument("<agent>", "an agent's name", "agent");
const queue = argument("<queue>", "a queue's name");
const dir = argument("<dir>", "a folder, relative to the project", "file");

export const configCommands = {
  show: command({
    path: "config show",
    summary: "Show all settings and the files they come from",
    examples: ["aegis config show"],
    run: (cx): Exit => import("./config.ts").then((it) => it.configShow(cx)),
  }),
  get: command({
    path: "config get",
    summary: "Show one setting",
    arguments: { key },
    examples: ["aegis config get server.port"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configGet(cx, args)),
  }),
  set: command({
    path: "config set",
    summary: "Change one setting; keeps comments in the file",
    arguments: { key, value: argument("<value>", "a value as in YAML: 3, true, [a, b]") },
    options: { local: option.flag("--local", "only on this machine, in .aegis.local.yaml") },
    examples: ["aegis config set server.port 4321", "aegis config set agents.dev.model opus --local"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configSet(cx, args)),
  }),
  defaultAgent: command({
    path: "config default-agent",
    summary: "Set the agent to use when none is named",
    arguments: { slug: agent },
    examples: ["aegis config default-agent dev"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configDefaultAgent(cx, args)),
  }),
  agentAdd: command({
    path: "config agent add",
    summary: "Declare an agent",
    arguments: {
      slug: argument("<agent>", "its name"),
      harness: argument("<harness>", "its harness: claude-code, codex, native, scripted, …"),
    },
    options: {
      model: option.text("--model <name>", "its model (default: chosen by the harness)"),
      effort: option.text("--effort <level>", "low, medium or high", ["low", "medium", "high"]),
      permission: option.text("--permission <rights>", "read, write, full or auto", ["read", "write", "full", "auto"]),
    },
    examples: ["aegis config agent add reviewer claude-code --permission read"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configAgentAdd(cx, args)),
  }),
  agentRemove: command({
    path: "config agent remove",
    summary: "Remove an agent",
    arguments: { slug: agent },
    examples: ["aegis config agent remove reviewer"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configAgentRemove(cx, args)),
  }),
  agentList: command({
    path: "config agent list",
    summary: "List the declared agents",
    examples: ["aegis config agent list"],
    run: (cx): Exit => import("./config.ts").then((it) => it.configAgentList(cx)),
  }),
  queueAdd: command({
    path: "config queue add",
    summary: "Declare a queue",
    arguments: { name: queue, agent: argument("<agent>", "the agent that runs its tasks", "agent") },
    options: {
      maxParallel: option.count("--max-parallel <count>", "maximum number of tasks at the same time (default 1)"),
      ...queueCheck,
    },
    examples: [
      "aegis config queue add reviews reviewer --max-parallel 2",
      'aegis config queue add fixes dev --check "npm test"',
    ],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configQueueAdd(cx, args)),
  }),
  queueRemove: command({
    path: "config queue remove",
    summary: "Remove a queue",
    arguments: { name: queue },
    examples: ["aegis config queue remove reviews"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configQueueRemove(cx, args)),
  }),
  queueList: command({
    path: "config queue list",
    summary: "List the declared queues",
    examples: ["aegis config queue list"],
    run: (cx): Exit => import("./config.ts").then((it) => it.configQueueList(cx)),
  }),
  pluginDirAdd: command({
    path: "config plugin-dir add",
    summary: "Add a folder to search for plugins",
    arguments: { path: dir },
    examples: ["aegis config plugin-dir add tools/plugins"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configPluginDirAdd(cx, args)),
  }),
  pluginDirRemove: command({
    path: "config plugin-dir remove",
    summary: "Remove a folder from the plugin search path",
    arguments: { path: dir },
    examples: ["aegis config plugin-dir remove tools/plugins"],
    run: (cx, args): Exit => import("./config.ts").then((it) => it.configPluginDirRemove(cx, args)),
  }),
};
