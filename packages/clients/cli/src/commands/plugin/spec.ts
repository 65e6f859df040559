/** Commands about plugins, trust and slash commands. */
import { argument, command, type Exit, option } from "../../program/command.ts";
import { overrideMalicious } from "../../program/override-option.ts";

const group = "Setup:";
const plugin = argument("<plugin>", "a plugin's name");
const plugin_ = argument("[plugin]", "a plugin's name");
const yes = option.flag("-y, --yes", "agree, and use the default answer to every question");
const yes_ = option.flag("-y, --yes", "agree without a prompt");

export const pluginCommands = {
  list: command({
    path: "plugin list",
    summary: "List the plugins and their status",
    examples: ["aegis plugin list"],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.pluginList(cx, args)),
  }),
  show: command({
    path: "plugin show",
    summary: "Show a plugin's contributions, settings and problems",
    arguments: { plugin },
    examples: ["aegis plugin show linter"],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.pluginShow(cx, args)),
  }),
  reload: command({
    path: "plugin reload",
    summary: "Reload changed plugins, or one plugin by name",
    arguments: { plugin: plugin_ },
    examples: ["aegis plugin reload", "aegis plugin reload linter"],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.pluginReload(cx, args)),
  }),
  enable: command({
    path: "plugin enable",
    summary: "Enable a disabled plugin",
    arguments: { plugin },
    examples: ["aegis plugin enable linter"],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.pluginSwitch(cx, { ...args, on: true })),
  }),
  disable: command({
    path: "plugin disable",
    summary: "Disable a plugin without removing its files",
    arguments: { plugin },
    examples: ["aegis plugin disable linter"],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.pluginSwitch(cx, { ...args, on: false })),
  }),
  new: command({
    path: "plugin new",
    summary: "Create a plugin: a working example with a test and types",
    arguments: { name: argument("<name>", "lower-case letters and digits, joined by -") },
    options: {
      dir: option.text("--dir <dir>", "where to create its folder (default: .aegis/plugins)", "file"),
      kind: option.choice(
        "--kind <kind>",
        "tool (default), hook, workflow or full",
        ["tool", "hook", "workflow", "full"],
        { default: "tool" },
      ),
    },
    examples: ["aegis plugin new greeter", "aegis plugin new house-rules --kind hook"],
    run: (cx, args): Exit => import("./new.ts").then((it) => it.pluginNew(cx, args)),
  }),
  link: command({
    path: "plugin link",
    summary: "Make this installation of Aegis visible to a plugin's editor, tsc and tests",
    arguments: { path: argument("[path]", "the plugin's folder (default: the current folder)", "file") },
    examples: ["aegis plugin link", "aegis plugin link plugins/greeter"],
    run: (cx, args): Exit => import("./new.ts").then((it) => it.pluginLink(cx, args)),
  }),
  validate: command({
    path: "plugin validate",
    summary: "Check a plugin's manifest and files, without a daemon",
    arguments: { path: argument("<path>", "the plugin's folder or file", "file") },
    options: { load: option.flag("--load", "also load its modules, which runs their code") },
    examples: ["aegis plugin validate ./my-plugin", "aegis plugin validate ./my-plugin --load"],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.pluginValidate(cx, args)),
  }),
  logs: command({
    path: "plugin logs",
    summary: "Print a plugin's log",
    arguments: { plugin },
    options: {
      follow: option.flag("-f, --follow", "follow the log"),
      lines: option.count("-n, --lines <count>", "how many of the last lines", { default: 50 }),
    },
    examples: ["aegis plugin logs linter", "aegis plugin logs linter -f"],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.pluginLogs(cx, args)),
  }),
  install: command({
    path: "plugin install",
    summary: "Show what a plugin would run, and install it",
    arguments: { name: plugin },
    options: {
      from: option.text("--from <source>", "gh:owner/repo[@ref][#path], git+https://…, or a folder", "file"),
      yes,
      override: overrideMalicious,
      force: option.flag("--force", "replace an installed version, including local edits"),
    },
    examples: [
      "aegis plugin install memory-system",
      "aegis plugin install linter --from gh:acme/tools@v2",
      "aegis plugin install mine --from ./plugins/mine --yes",
    ],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.pluginInstall(cx, args)),
  }),
  update: command({
    path: "plugin update",
    summary: "Update one plugin, or all, from their sources",
    arguments: { name: plugin_ },
    options: { yes, override: overrideMalicious, force: option.flag("--force", "replace files with local edits") },
    examples: ["aegis plugin update", "aegis plugin update linter --yes"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.pluginUpdate(cx, args)),
  }),
  uninstall: command({
    path: "plugin uninstall",
    summary: "Remove a plugin and what its installation added; keeps its data",
    arguments: { name: plugin },
    options: {
      yes,
      purge: option.flag("--purge", "delete its data too"),
      force: option.flag("--force", "remove it even if its clean-up fails or other plugins need it"),
    },
    examples: ["aegis plugin uninstall linter", "aegis plugin uninstall linter --yes --purge"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.pluginUninstall(cx, args)),
  }),
  search: command({
    path: "plugin search",
    summary: "Find plugins in the registries",
    arguments: { text: argument("[text]", "part of a name or a description") },
    examples: ["aegis plugin search", "aegis plugin search memory --json"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.pluginSearch(cx, args)),
  }),
  trust: command({
    path: "plugin trust",
    summary: "Trust the current version of a plugin",
    arguments: { name: plugin },
    options: { yes, dev: option.flag("--dev", "trust future changes too: for a plugin that you are writing") },
    examples: ["aegis plugin trust linter", "aegis plugin trust mine --dev --yes"],
    run: (cx, args): Exit => import("./trust.ts").then((it) => it.pluginTrust(cx, args)),
  }),
  accept: command({
    path: "plugin accept",
    summary: "Show which gates of a plugin changed, and accept the plugin in its current version",
    arguments: { name: plugin },
    options: { yes: yes_ },
    examples: ["aegis plugin accept house"],
    run: (cx, args): Exit => import("./gates.ts").then((it) => it.pluginAccept(cx, args)),
  }),
  drop: command({
    path: "plugin drop",
    summary: "Remove a plugin's gates, so that the actions they guard are allowed again",
    arguments: { name: plugin },
    options: { yes: yes_ },
    examples: ["aegis plugin drop house"],
    run: (cx, args): Exit => import("./gates.ts").then((it) => it.pluginDrop(cx, args)),
  }),
};

export const trustCommands = {
  trust: command({
    path: "trust",
    group,
    summary: "Show what this folder's files would run, and trust it",
    options: {
      yes: yes_,
      list: option.flag("--list", "only list, including trusted items"),
      always: option.flag("--always", "trust future changes too: for folders that only you write to"),
      revoke: option.flag("--revoke", "revoke all trust in this folder"),
      in: option.text("--in <worktree>", "show what differs in this worktree of the project, and trust it there"),
    },
    examples: ["aegis trust", "aegis trust --list", "aegis trust --in lucid-knuth", "aegis trust --revoke"],
    run: (cx, args): Exit => import("./trust.ts").then((it) => it.trust(cx, args)),
  }),
};

export const slashCommandCommands = {
  list: command({
    path: "command list",
    summary: "List the slash commands of plugins, the project and the user, and problems in their files",
    examples: ["aegis command list", 'aegis run "/review src/main.ts"'],
    run: (cx, args): Exit => import("./plugin.ts").then((it) => it.commandList(cx, args)),
  }),
};
