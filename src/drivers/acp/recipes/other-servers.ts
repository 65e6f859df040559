/**
 * Finds the MCP servers that a user and a project have declared for an agent, by name, so that each can be disabled.
 */
import { dirname, join } from "node:path";
import { isObject, type Json } from "../../cli-harness/fields.ts";
import { DriverError } from "../../driver.ts";
import { planeServer } from "../tool-calls.ts";
import { readSettings } from "./settings.ts";

/** The names in all of these files that exist, without duplicates. */
export async function declaredServers(
  files: readonly string[],
  serversOf: (settings: Json) => unknown[],
): Promise<string[]> {
  const settings = await Promise.all(files.map(readSettings));
  return [...new Set(settings.flatMap((one) => (one === null ? [] : serversOf(one).flatMap(namesOfServers))))];
}

/** For agents that would start a server with the plane's name instead of the plane, or in addition to it. */
export async function refusePlaneName(
  program: string,
  files: readonly string[],
  serversOf: (settings: Json) => unknown[],
): Promise<void> {
  for (const file of files) {
    if (!(await declaredServers([file], serversOf)).includes(planeServer)) continue;
    const message = `${file} declares an MCP server "${planeServer}", which ${program} cannot distinguish from Aegis's own.`;
    throw new DriverError({ code: "start", message, fix: "Give that server another name." });
  }
}

/** Where most agents list servers in their settings. */
export function serversOf({ mcpServers, servers }: Json): unknown[] {
  return [mcpServers, servers];
}

/** The folder and its ancestors: a project's settings may be in any of them. */
export function withAncestors(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...withAncestors(above)];
}

export function inFolders(folders: readonly string[], names: readonly string[]): string[] {
  return folders.flatMap((folder) => names.map((name) => join(folder, name)));
}

export function namesOfServers(servers: unknown): string[] {
  return isObject(servers) ? Object.keys(servers) : [];
}
