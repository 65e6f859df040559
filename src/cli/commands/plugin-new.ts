/** `aegis plugin new` and `aegis plugin link`: the beginnings of a plugin of one's own. */
import { homedir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { findDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { CliError, usageError } from "../failure.ts";
import { createStyle } from "../format/style.ts";
import type { Terminal } from "../terminal.ts";

export type NewArgs = { name: string; dir: string | undefined; kind: string | undefined };

export async function pluginNew(cx: Terminal, args: NewArgs): Promise<number> {
  const { pluginKinds } = await import("../../daemon/plugins/templates.ts");
  const { scaffoldPlugin } = await import("../../daemon/plugins/scaffold.ts");
  const wanted = args.kind ?? "tool";
  const kind = pluginKinds.find((one) => one === wanted);
  if (kind === undefined)
    throw usageError(`there is no kind "${wanted}"${didYouMean(wanted, pluginKinds)}`, pluginKinds.join(", "));
  const root = findProjectRoot(cx.cwd);
  const dir = args.dir === undefined ? join(root, ".aegis", "plugins") : resolve(cx.cwd, args.dir);
  const project = await projectOf(cx, root);
  const other = await placeOf(project, args.name);
  if (other !== null)
    throw new CliError(
      exitCodes.failed,
      `this project has a plugin "${args.name}" already: ${relative(cx.cwd, other)}`,
      {
        hint: "choose another name",
      },
    );
  const { place, files } = await scaffoldPlugin(dir, args.name, kind);
  const found = await trustOwn(cx, project, args.name, place);
  const status = found ? await loadedAs(cx, args.name) : null;
  if (cx.json) {
    cx.printJson({ ok: true, plugin: args.name, place, files: files.map((file) => file.path), found, status });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  const shown = relative(cx.cwd, place) || ".";
  cx.print(`Made ${style.bold(shown)}:`);
  for (const { path, about } of files) cx.print(`  ${style.cyan(path.padEnd(16))}${about}`);
  const steps = found
    ? [`aegis plugin show ${args.name}`, `cd ${shown} && node --test`, `aegis plugin logs ${args.name} -f`]
    : [`aegis config plugin-dir add ${relative(root, dir) || "."}`, `aegis plugin trust ${args.name} --dev`];
  cx.print(
    found
      ? "It is trusted while you write it, and a running daemon takes each change over."
      : "It lies in no folder of this project's plugins, so that nothing loads it yet.",
  );
  cx.print("Next:");
  for (const step of steps) cx.print(`  ${step}`);
  return exitCodes.ok;
}

export async function pluginLink(cx: Terminal, args: { path: string | undefined }): Promise<number> {
  const { linkAegis } = await import("../../daemon/plugins/link.ts");
  const folder = await linkAegis(resolve(cx.cwd, args.path ?? "."));
  if (cx.json) cx.printJson({ ok: true, folder });
  else cx.print(`Editors, tsc and tests find "aegis" there now (${relative(cx.cwd, folder)}).`);
  return exitCodes.ok;
}

type Project = { root: string; env: Terminal["env"]; harnesses: readonly string[] };

async function projectOf(cx: Terminal, root: string): Promise<Project> {
  const { harnessNames } = await import("../../daemon/checkup.ts");
  return { root, env: cx.env, harnesses: harnessNames(root, cx.env) };
}

/** Where the project has a plugin of that name, or null. Throws `invalid` when its files are too wrong to tell. */
async function placeOf(project: Project, name: string): Promise<string | null> {
  const { listTrust } = await import("../../daemon/trust/agree.ts");
  const found = (await listTrust(project)).find(({ item }) => item.kind === "plugin" && item.name === name);
  return found === undefined ? null : resolve(project.root, found.item.file);
}

/** Whoever has it made agrees to it. False when it lies where nothing looks for plugins. */
async function trustOwn(cx: Terminal, project: Project, name: string, place: string): Promise<boolean> {
  const { findPlugin, trustPlugin } = await import("../../daemon/trust/agree.ts");
  if (dirname(place) === join(cx.env.HOME ?? homedir(), ".aegis", "plugins")) return true;
  if ((await placeOf(project, name)) !== place) return false;
  const { item } = await findPlugin(project, name);
  await trustPlugin(project, item, { dev: true });
  return true;
}

/** How a running daemon has it; null when none runs. */
async function loadedAs(cx: Terminal, name: string): Promise<string | null> {
  const running = await findDaemon(cx);
  if (running === null) return null;
  const { plugins } = await running.client.call("reloadPlugins", { body: {} });
  return plugins.find((plugin) => plugin.name === name)?.status ?? null;
}
