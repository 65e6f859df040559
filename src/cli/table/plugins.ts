/** Commands about the plugins that are there. Those that bring and remove them are in `plugin-install.ts`. */
import type { ArgumentSpec, CommandSpec } from "../spec.ts";

const plugin: ArgumentSpec = { synopsis: "<plugin>", description: "a plugin's name" };

export const pluginCommands: readonly CommandSpec[] = [
  {
    path: "plugin list",
    summary: "List the plugins that were found, and how they are",
    examples: ["aegis plugin list"],
    run: async (cx) => (await import("../commands/plugin.ts")).pluginList(cx),
  },
  {
    path: "plugin show",
    summary: "Show what a plugin brings, how it is set and what is wrong with it",
    arguments: [plugin],
    examples: ["aegis plugin show linter"],
    run: async (cx, input) =>
      (await import("../commands/plugin.ts")).pluginShow(cx, { plugin: input.required("plugin") }),
  },
  {
    path: "plugin reload",
    summary: "Take over changed plugins; one that is named is loaded anew",
    arguments: [{ ...plugin, synopsis: "[plugin]" }],
    examples: ["aegis plugin reload", "aegis plugin reload linter"],
    run: async (cx, input) =>
      (await import("../commands/plugin.ts")).pluginReload(cx, { plugin: input.text("plugin") }),
  },
  {
    path: "plugin enable",
    summary: "Let a plugin run again that was disabled",
    arguments: [plugin],
    examples: ["aegis plugin enable linter"],
    run: async (cx, input) =>
      (await import("../commands/plugin.ts")).pluginSwitch(cx, { plugin: input.required("plugin"), on: true }),
  },
  {
    path: "plugin disable",
    summary: "Keep a plugin from running; its files stay",
    arguments: [plugin],
    examples: ["aegis plugin disable linter"],
    run: async (cx, input) =>
      (await import("../commands/plugin.ts")).pluginSwitch(cx, { plugin: input.required("plugin"), on: false }),
  },
  {
    path: "plugin new",
    summary: "Make a plugin of your own: a working example, its test, and types for the editor",
    arguments: [{ synopsis: "<name>", description: "lower-case letters and digits, joined by -" }],
    options: [
      { flags: "--dir <dir>", description: "where to put its folder; .aegis/plugins unless said", complete: "file" },
      {
        flags: "--kind <kind>",
        description: "tool, hook, workflow or full; tool unless said",
        complete: ["tool", "hook", "workflow", "full"],
      },
    ],
    examples: ["aegis plugin new greeter", "aegis plugin new house-rules --kind hook"],
    run: async (cx, input) =>
      (await import("../commands/plugin-new.ts")).pluginNew(cx, {
        name: input.required("name"),
        dir: input.text("dir"),
        kind: input.text("kind"),
      }),
  },
  {
    path: "plugin link",
    summary: "Let editors, tsc and tests of a plugin find this Aegis",
    arguments: [{ synopsis: "[path]", description: "the plugin's folder; this one unless said", complete: "file" }],
    examples: ["aegis plugin link", "aegis plugin link plugins/greeter"],
    run: async (cx, input) => (await import("../commands/plugin-new.ts")).pluginLink(cx, { path: input.text("path") }),
  },
  {
    path: "plugin validate",
    summary: "Check a plugin's manifest and files, without a daemon",
    arguments: [{ synopsis: "<path>", description: "the plugin's folder or file", complete: "file" }],
    options: [{ flags: "--load", description: "load its modules too, which runs them" }],
    examples: ["aegis plugin validate ./my-plugin", "aegis plugin validate ./my-plugin --load"],
    run: async (cx, input) =>
      (await import("../commands/plugin.ts")).pluginValidate(cx, {
        path: input.required("path"),
        load: input.flag("load"),
      }),
  },
  {
    path: "plugin logs",
    summary: "Print what a plugin logged",
    arguments: [plugin],
    options: [
      { flags: "-f, --follow", description: "go on with what comes" },
      { flags: "-n, --lines <count>", description: "how many of the last lines", value: "count" },
    ],
    examples: ["aegis plugin logs linter", "aegis plugin logs linter -f"],
    run: async (cx, input) =>
      (await import("../commands/plugin.ts")).pluginLogs(cx, {
        plugin: input.required("plugin"),
        follow: input.flag("follow"),
        lines: input.number("lines"),
      }),
  },
];
