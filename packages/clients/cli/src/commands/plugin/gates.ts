/** `aegis plugin accept|drop`: a person decides about gates whose plugin is not loaded or has changed. */

import { isAegisError } from "@aegis/contract/errors.ts";
import type { PluginDetail } from "@aegis/contract/plugin.ts";
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { tellDaemon } from "../../daemon/connection.ts";
import type { Handler } from "../../program/command.ts";
import { CliError } from "../../program/failure.ts";
import { askConsent } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { pluginCommands } from "./spec.ts";

/** Trusts the plugin as it is now, and records the gates that it registers now as its complete set. */
export const pluginAccept: Handler<typeof pluginCommands.accept> = async (cx, args) => {
  const { name, yes } = args;
  const { acceptGates, offeredGates } = await import("@aegis/project/plugins/gates.ts");
  const { trustShown } = await import("./trust.ts");
  await trustShown(cx, args);
  const project = projectOf(cx);
  const offer = await offeredGates(project, await loadedPlugin(cx, name));
  const { hooks, lost, added } = offer;
  const { style } = cx;
  cx.tell([
    ...hooks.map((label) => `  ${added.includes(label) ? style.green("+") : " "} ${label}`),
    ...lost.map((label) => `  ${style.red("-")} ${label}`),
    ...(hooks.length === 0 ? [`${name} has no gates any more.`] : []),
  ]);
  if (offer.isNew)
    await askConsent(cx, {
      yes,
      question: `Accept these gates of ${name} from now on?`,
      otherwise: "nothing was accepted",
    });
  await acceptGates(project, offer);
  await tellDaemon(cx);
  const missing = (await loadedPlugin(cx, name)).guard?.missing ?? [];
  const isDone = missing.length === 0;
  const told = isDone ? `${name} is accepted in its current version.` : [];
  cx.show({ ok: isDone, plugin: name, gates: hooks, lost, missing }, told);
  if (!isDone) cx.warn(`${name} changed after it was shown; still refused: ${missing.join(", ")}`);
  return isDone ? exitCodes.ok : exitCodes.failed;
};

/** Drops the recorded gates: Aegis no longer refuses the actions that they guarded. */
export const pluginDrop: Handler<typeof pluginCommands.drop> = async (cx, args) => {
  const { name, yes } = args;
  const { dropGates, gatesOf, recordedGates } = await import("@aegis/project/plugins/gates.ts");
  const project = projectOf(cx);
  const shown = await gatesOf(project, name);
  cx.tell(shown.hooks.map((label) => `  - ${label}`));
  const question = `Drop these gates of ${name}? The actions they guard are allowed again.`;
  await askConsent(cx, { yes, question, otherwise: "nothing was dropped" });
  await dropGates(project, shown);
  await tellDaemon(cx);
  // A loaded plugin keeps its gates even after they were dropped from the record.
  const held = (await recordedGates(project)).find(({ plugin }) => plugin === name)?.hooks ?? [];
  const kept = `${name} is loaded and still has ${held.join(", ")}; disable it to remove them.`;
  const told = held.length === 0 ? `Dropped. ${name} no longer causes refusals.` : kept;
  cx.show({ ok: true, plugin: name, dropped: shown.hooks, held }, told);
};

/** For commands with which a person removes a plugin: drops its gates and reports that. */
export async function dropGatesOf(cx: Terminal, name: string): Promise<string[]> {
  const { dropGates, recordedGates } = await import("@aegis/project/plugins/gates.ts");
  const project = projectOf(cx);
  const shown = (await recordedGates(project)).find(({ plugin }) => plugin === name);
  if (shown === undefined) return [];
  await dropGates(project, shown);
  cx.tell(`Dropped its gates: ${shown.hooks.join(", ")}. The actions they guarded are no longer checked.`);
  return shown.hooks;
}

function projectOf(cx: Terminal) {
  return { root: findProjectRoot(cx.cwd), env: cx.env };
}

/** Throws if the plugin does not run: a plugin that cannot be loaded cannot be accepted. */
async function loadedPlugin(cx: Terminal, name: string): Promise<PluginDetail> {
  const { client } = await cx.daemon();
  const { plugin } = await client.call("getPlugin", { path: { plugin: name } }).catch((error: unknown) => {
    if (!isAegisError(error) || error.code !== "not_found") throw error;
    throw new CliError(exitCodes.failed, `${name} cannot be accepted: ${error.message}`, {
      hint: `restore it, or drop its gates: aegis plugin drop ${name}`,
    });
  });
  if (plugin.status === "loaded" && plugin.reason === null) return plugin;
  throw new CliError(exitCodes.failed, `${name} cannot be accepted: it is ${plugin.status}: ${plugin.reason ?? ""}`, {
    hint: `repair it, or drop its gates: aegis plugin drop ${name}`,
  });
}
