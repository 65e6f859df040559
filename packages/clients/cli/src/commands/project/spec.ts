/** Commands that set up a project or introduce Aegis. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const group = "Setup:";

export const projectCommands = {
  init: command({
    path: "init",
    group,
    summary: "Write a configuration for this folder",
    options: {
      yes: option.flag("-y, --yes", "do not prompt"),
      force: option.flag("--force", "replace an existing configuration"),
      team: option.text(
        "--team <clis>",
        "the coding CLIs that run your agents, separated by commas; the first answers",
      ),
      worktrees: option.flag("--worktrees", "agents that edit files work in git worktrees of their own"),
    },
    examples: ["aegis init", "aegis init --yes", "aegis init --team claude,claude,codex --worktrees"],
    run: (cx, args): Exit => import("./init.ts").then((it) => it.initHere(cx, args)),
  }),
  demo: command({
    path: "demo",
    group,
    summary: "Watch a team of offline agents work and survive a crash, in a temporary folder",
    options: {
      cluster: option.removed(
        "--cluster",
        "the demo of a cluster is a program of its own: examples/cluster/main.ts in the folder of Aegis",
      ),
      keep: option.flag("--keep", "keep the folder for inspection"),
    },
    examples: ["aegis demo", "aegis demo --keep"],
    run: (cx, args): Exit => import("./demo.ts").then((it) => it.demo(cx, args)),
  }),
  completion: command({
    path: "completion",
    group,
    summary: "Print a completion script for your shell",
    arguments: { shell: argument("<shell>", "bash, zsh or fish", ["bash", "zsh", "fish"]) },
    examples: [
      'eval "$(aegis completion bash)"',
      'eval "$(aegis completion zsh)"',
      "aegis completion fish > ~/.config/fish/completions/aegis.fish",
    ],
    run: (cx, args): Exit => import("./completion.ts").then((it) => it.completion(cx, args)),
  }),
};
