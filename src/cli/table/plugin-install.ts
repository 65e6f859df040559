/** Commands that install plugins, and those that say what may run. They need no daemon. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../spec.ts";

const plugin: ArgumentSpec = { synopsis: "<plugin>", description: "a plugin's name" };
const yes: OptionSpec = { flags: "-y, --yes", description: "agree, and take the default answer to every question" };

export const pluginInstallCommands: readonly CommandSpec[] = [
  {
    path: "plugin install",
    summary: "Install a plugin, after showing what it would run",
    arguments: [plugin],
    options: [
      {
        flags: "--from <source>",
        description: "gh:owner/repo[@ref][#path], git+https://…, or a folder",
        complete: "file",
      },
      yes,
      { flags: "--force", description: "replace what is there, edits too" },
    ],
    examples: [
      "aegis plugin install memory-system",
      "aegis plugin install linter --from gh:acme/tools@v2",
      "aegis plugin install mine --from ./plugins/mine --yes",
    ],
    run: async (cx, input) =>
      (await import("../commands/plugin-install.ts")).pluginInstall(cx, {
        name: input.required("plugin"),
        from: input.text("from"),
        yes: input.flag("yes"),
        force: input.flag("force"),
      }),
  },
  {
    path: "plugin update",
    summary: "Bring one plugin, or all, to what their source has now",
    arguments: [{ synopsis: "[plugin]", description: "a plugin's name" }],
    options: [yes, { flags: "--force", description: "also over files that were edited here" }],
    examples: ["aegis plugin update", "aegis plugin update linter --yes"],
    run: async (cx, input) =>
      (await import("../commands/plugin-install.ts")).pluginUpdate(cx, {
        name: input.text("plugin"),
        yes: input.flag("yes"),
        force: input.flag("force"),
      }),
  },
  {
    path: "plugin uninstall",
    summary: "Remove a plugin and what its install added; its data stays",
    arguments: [plugin],
    options: [
      yes,
      { flags: "--purge", description: "delete its data too" },
      { flags: "--force", description: "also when its own clean-up fails, or others need it" },
    ],
    examples: ["aegis plugin uninstall linter", "aegis plugin uninstall linter --yes --purge"],
    run: async (cx, input) =>
      (await import("../commands/plugin-install.ts")).pluginUninstall(cx, {
        name: input.required("plugin"),
        yes: input.flag("yes"),
        purge: input.flag("purge"),
        force: input.flag("force"),
      }),
  },
  {
    path: "plugin search",
    summary: "Find plugins in the registries",
    arguments: [{ synopsis: "[text]", description: "part of a name or a description" }],
    examples: ["aegis plugin search", "aegis plugin search memory --json"],
    run: async (cx, input) =>
      (await import("../commands/plugin-install.ts")).pluginSearch(cx, { text: input.text("text") }),
  },
  {
    path: "plugin trust",
    summary: "Agree to run a plugin as it is now",
    arguments: [plugin],
    options: [yes, { flags: "--dev", description: "whatever it becomes: for a plugin you are writing" }],
    examples: ["aegis plugin trust linter", "aegis plugin trust mine --dev --yes"],
    run: async (cx, input) =>
      (await import("../commands/trust.ts")).pluginTrust(cx, {
        name: input.required("plugin"),
        yes: input.flag("yes"),
        dev: input.flag("dev"),
      }),
  },
  {
    path: "trust",
    group: "Setup:",
    summary: "Show what this folder's files would run, and agree to it",
    options: [
      { flags: "-y, --yes", description: "agree without being asked" },
      { flags: "--list", description: "only show, also what is trusted already" },
      { flags: "--always", description: "also to whatever the folder becomes: for one that only you write to" },
      { flags: "--revoke", description: "take back everything that was agreed to here" },
    ],
    examples: ["aegis trust", "aegis trust --list", "aegis trust --revoke"],
    run: async (cx, input) =>
      (await import("../commands/trust.ts")).trust(cx, {
        yes: input.flag("yes"),
        list: input.flag("list"),
        revoke: input.flag("revoke"),
        always: input.flag("always"),
      }),
  },
];
