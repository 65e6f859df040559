/** `aegis plugin new` and `aegis plugin link`: create a plugin, or use one from another folder. */

import { dirname, join, relative, resolve } from "node:path";
import { findDaemon, tellDaemon } from "../../daemon/connection.ts";
import type { Handler } from "../../program/command.ts";
import { CliError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { type Project, projectOf } from "../project/project-of.ts";
import type { pluginCommands } from "./spec.ts";

export const pluginNew: Handler<typeof pluginCommands.new> = async (cx, args) => {
  const { scaffoldPlugin } = await import("@aegis/project/plugins/scaffold.ts");
  const project = await projectOf(cx);
  const { root } = project;
  const dir = args.dir === undefined ? join(root, ".aegis", "plugins") : resolve(cx.cwd, args.dir);
  const other = await placeOf(project, args.name);
  if (other !== null)
    throw new CliError(
      exitCodes.failed,
      `this project already has a plugin "${args.name}": ${relative(cx.cwd, other)}`,
      {
        hint: "choose another name",
      },
    );
  const { place, files } = await scaffoldPlugin(dir, args.name, args.kind);
  const found = await trustOwn(project, args.name, place);
  const status = found ? await loadedAs(cx, args.name) : null;
  const shown = relative(cx.cwd, place) || ".";
  const steps = found
    ? [`aegis plugin show ${args.name}`, `cd ${shown} && node --test`, `aegis plugin logs ${args.name} -f`]
    : [`aegis config plugin-dir add ${relative(root, dir) || "."}`, `aegis plugin trust ${args.name} --dev`];
  const paths = files.map((file) => file.path);
  cx.show({ ok: true, plugin: args.name, place, files: paths, found, status }, () => [
    `Made ${cx.style.bold(shown)}:`,
    ...files.map(({ path, about }) => `  ${cx.style.cyan(path.padEnd(16))}${about}`),
    found
      ? "It is trusted during development, and a running daemon applies each change."
      : "It is outside the plugin folders of this project, so it is not loaded yet.",
    "Next:",
    ...steps.map((step) => `  ${step}`),
  ]);
};

export const pluginLink: Handler<typeof pluginCommands.link> = async (cx, args) => {
  const { linkTrusted } = await import("@aegis/project/plugins/link.ts");
  const folder = await linkTrusted(await projectOf(cx), resolve(cx.cwd, args.path ?? "."));
  await tellDaemon(cx);
  cx.show({ ok: true, folder }, `Editors, tsc and tests now find "aegis" there (${relative(cx.cwd, folder)}).`);
};

/** Where the project has a plugin of that name, or null. Throws `invalid` if the files cannot be read. */
async function placeOf(project: Project, name: string): Promise<string | null> {
  const { listTrust } = await import("@aegis/project/trust/agree.ts");
  const found = (await listTrust(project)).find(({ item }) => item.kind === "plugin" && item.name === name);
  return found === undefined ? null : resolve(project.root, found.item.file);
}

/** Creating a plugin implies trust in it. Returns false if it is outside the folders that are searched for plugins. */
async function trustOwn(project: Project, name: string, place: string): Promise<boolean> {
  const { findPlugin, trustPlugin } = await import("@aegis/project/trust/agree.ts");
  if (dirname(place) === join(project.home, ".aegis", "plugins")) return true;
  if ((await placeOf(project, name)) !== place) return false;
  const { item } = await findPlugin(project, name);
  await trustPlugin(project, item, { dev: true });
  return true;
}

/** The plugin's status in a running daemon; null if none runs. */
async function loadedAs(cx: Terminal, name: string): Promise<string | null> {
  const running = await findDaemon(cx);
  if (running === null) return null;
  const { plugins } = await running.client.call("reloadPlugins", { body: {} });
  return plugins.find((plugin) => plugin.name === name)?.status ?? null;
}
