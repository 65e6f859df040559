/** Commands to set a project up and to get to know it. */
import type { CommandSpec } from "../spec.ts";
import { configCommands } from "./config.ts";

const group = "Setup:";

/** Words that stand before other commands. */
export const commandGroups: Readonly<Record<string, { summary: string; group?: string }>> = {
  queue: { summary: "Named lines of work: put tasks in, see how they stand", group: "Queues:" },
  task: { summary: "What became of the tasks of all queues", group: "Queues:" },
  group: { summary: "Sessions that are asked together, and their replies as one", group: "Groups:" },
  workflow: {
    summary: "Procedures over several agents: run them, watch them, take them up again",
    group: "Workflows:",
  },
  schedule: { summary: "What is done when: cron entries and what came of them", group: "Schedules:" },
  skill: { summary: "Instructions for particular tasks, given to agents when they come up", group: "Sessions:" },
  agent: { summary: "The agents of this project, and files of your own", group: "Sessions:" },
  plugin: { summary: "Plugins: hooks, tools, workflows, agents and skills from elsewhere", group: "Plugins:" },
  command: { summary: "What can be typed after a slash in a chat", group: "Plugins:" },
  config: { summary: "Show and change the configuration", group },
  "config agent": { summary: "Declare, list and remove agents" },
  "config queue": { summary: "Declare, list and remove queues" },
  "config plugin-dir": { summary: "Add and remove folders of plugins" },
};

export const setupCommands: readonly CommandSpec[] = [
  {
    path: "init",
    group,
    summary: "Write a configuration for this folder",
    options: [
      { flags: "-y, --yes", description: "ask nothing" },
      { flags: "--force", description: "replace a configuration that is there" },
    ],
    examples: ["aegis init", "aegis init --yes"],
    run: async (cx, input) => {
      const checkup = await import("../../daemon/checkup.ts");
      const { agent, why } = await checkup.suggestAgent(cx.cwd, cx.env);
      return (await import("../commands/init.ts")).init(cx, {
        yes: input.flag("yes"),
        force: input.flag("force"),
        agent: { slug: agent.slug, harness: agent.harness, model: agent.model ?? undefined, why },
        harnesses: checkup.harnessNames(cx.cwd, cx.env),
      });
    },
  },
  ...configCommands,
  {
    path: "demo",
    group,
    summary: "Watch a team work and survive a crash, offline, in a folder of its own",
    options: [{ flags: "--keep", description: "keep the folder to look around in it" }],
    examples: ["aegis demo"],
    run: async (cx, input) => (await import("../commands/demo.ts")).demo(cx, { keep: input.flag("keep") }),
  },
  {
    path: "completion",
    group,
    summary: "Print a completion script for your shell",
    arguments: [{ synopsis: "<shell>", description: "bash, zsh or fish", complete: ["bash", "zsh", "fish"] }],
    examples: [
      'eval "$(aegis completion bash)"',
      'eval "$(aegis completion zsh)"',
      "aegis completion fish > ~/.config/fish/completions/aegis.fish",
    ],
    run: async (cx, input) =>
      (await import("../commands/completion.ts")).completion(cx, { shell: input.required("shell") }),
  },
];
