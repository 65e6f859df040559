/** Plugins that do not run: a missing workflow may belong to one of them. */
import type { Client } from "@aegis/client/client.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { PluginView } from "@aegis/contract/plugin.ts";
import { oneLine } from "../../format/text.ts";

/** One line per plugin, with the reason. */
export async function idlePlugins(client: Client): Promise<string[]> {
  const { plugins } = await client.call("listPlugins");
  return plugins.filter(isIdle).map(({ name, status, reason }) => {
    const why = reason === null ? "" : `: ${oneLine(reason)}`;
    return `plugin ${name} is ${status}${why}`;
  });
}

/** Returns the call's result. A "not found" error also names the plugins that do not run. */
export async function namingIdlePlugins<T>(client: Client, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!isAegisError(error) || error.code !== "not_found") throw error;
    const idle = await idlePlugins(client).catch(() => []);
    if (idle.length === 0) throw error;
    const hint = [...(error.hint === undefined ? [] : [error.hint]), ...idle].join("\n  ");
    throw new AegisError("not_found", error.message, { hint, cause: error });
  }
}

function isIdle({ status }: PluginView): boolean {
  return status !== "loaded" && status !== "disabled";
}
