/** Commands that show and change the configuration. They need no daemon. */
import { findProjectRoot } from "../../lib/daemon-file.ts";
import type { ConfigArgs } from "../commands/config.ts";
import type { ArgumentSpec, CommandSpec, Input } from "../spec.ts";
import type { Terminal } from "../terminal.ts";

const key: ArgumentSpec = { synopsis: "<key>", description: "as in server.port or agents.dev.model" };
const agent: ArgumentSpec = { synopsis: "<agent>", description: "an agent's name", complete: "agent" };
const queue: ArgumentSpec = { synopsis: "<queue>", description: "a queue's name" };
const folder: ArgumentSpec = { synopsis: "<dir>", description: "a folder, relative to the project", complete: "file" };

export const configCommands: readonly CommandSpec[] = [
  {
    path: "config show",
    summary: "Show every setting and the files it comes from",
    examples: ["aegis config show"],
    run: withCommands((module, cx, args) => module.configShow(cx, args)),
  },
  {
    path: "config get",
    summary: "Show one setting",
    arguments: [key],
    examples: ["aegis config get server.port"],
    run: withCommands((module, cx, args, input) => module.configGet(cx, { ...args, key: input.required("key") })),
  },
  {
    path: "config set",
    summary: "Change one setting; comments in the file stay",
    arguments: [key, { synopsis: "<value>", description: "a value as in YAML: 3, true, [a, b]" }],
    options: [{ flags: "--local", description: "only on this machine, in .aegis.local.yaml" }],
    examples: ["aegis config set server.port 4321", "aegis config set agents.dev.model opus --local"],
    run: withCommands((module, cx, args, input) =>
      module.configSet(cx, {
        ...args,
        key: input.required("key"),
        value: input.required("value"),
        local: input.flag("local"),
      }),
    ),
  },
  {
    path: "config default-agent",
    summary: "Say which agent answers when none is named",
    arguments: [agent],
    examples: ["aegis config default-agent dev"],
    run: withCommands((module, cx, args, input) =>
      module.configDefaultAgent(cx, { ...args, slug: input.required("agent") }),
    ),
  },
  {
    path: "config agent add",
    summary: "Declare an agent",
    arguments: [
      { synopsis: "<agent>", description: "its name" },
      { synopsis: "<harness>", description: "what runs it: claude-code, codex, native, scripted, …" },
    ],
    options: [
      { flags: "--model <name>", description: "its model; the harness chooses when absent" },
      { flags: "--effort <level>", description: "low, medium or high", complete: ["low", "medium", "high"] },
      {
        flags: "--permission <rights>",
        description: "read, write, full or auto",
        complete: ["read", "write", "full", "auto"],
      },
    ],
    examples: ["aegis config agent add reviewer claude-code --permission read"],
    run: withCommands((module, cx, args, input) =>
      module.configAgentAdd(cx, {
        ...args,
        slug: input.required("agent"),
        harness: input.required("harness"),
        model: input.text("model"),
        effort: input.text("effort"),
        permission: input.text("permission"),
      }),
    ),
  },
  {
    path: "config agent remove",
    summary: "Remove an agent",
    arguments: [agent],
    examples: ["aegis config agent remove reviewer"],
    run: withCommands((module, cx, args, input) =>
      module.configAgentRemove(cx, { ...args, slug: input.required("agent") }),
    ),
  },
  {
    path: "config agent list",
    summary: "List the declared agents",
    examples: ["aegis config agent list"],
    run: withCommands((module, cx, args) => module.configAgentList(cx, args)),
  },
  {
    path: "config queue add",
    summary: "Declare a queue",
    arguments: [queue, { ...agent, description: "the agent whose sessions do its tasks" }],
    options: [{ flags: "--max-parallel <count>", description: "tasks at the same time (default 1)", value: "count" }],
    examples: ["aegis config queue add reviews reviewer --max-parallel 2"],
    run: withCommands((module, cx, args, input) =>
      module.configQueueAdd(cx, {
        ...args,
        name: input.required("queue"),
        agent: input.required("agent"),
        maxParallel: input.number("maxParallel"),
      }),
    ),
  },
  {
    path: "config queue remove",
    summary: "Remove a queue",
    arguments: [queue],
    examples: ["aegis config queue remove reviews"],
    run: withCommands((module, cx, args, input) =>
      module.configQueueRemove(cx, { ...args, name: input.required("queue") }),
    ),
  },
  {
    path: "config queue list",
    summary: "List the declared queues",
    examples: ["aegis config queue list"],
    run: withCommands((module, cx, args) => module.configQueueList(cx, args)),
  },
  {
    path: "config plugin-dir add",
    summary: "Look for plugins in one more folder",
    arguments: [folder],
    examples: ["aegis config plugin-dir add tools/plugins"],
    run: withCommands((module, cx, args, input) =>
      module.configPluginDirAdd(cx, { ...args, path: input.required("dir") }),
    ),
  },
  {
    path: "config plugin-dir remove",
    summary: "No longer look for plugins in a folder",
    arguments: [folder],
    examples: ["aegis config plugin-dir remove tools/plugins"],
    run: withCommands((module, cx, args, input) =>
      module.configPluginDirRemove(cx, { ...args, path: input.required("dir") }),
    ),
  },
];

type ConfigModule = typeof import("../commands/config.ts");
type Run = (module: ConfigModule, cx: Terminal, args: ConfigArgs, input: Input) => Promise<number>;

/** Loads the module, and the names of the harnesses that the configuration is checked against. */
function withCommands(run: Run): CommandSpec["run"] {
  return async (cx, input) => {
    const [module, checkup] = await Promise.all([import("../commands/config.ts"), import("../../daemon/checkup.ts")]);
    return run(module, cx, { harnesses: checkup.harnessNames(findProjectRoot(cx.cwd), cx.env) }, input);
  };
}
