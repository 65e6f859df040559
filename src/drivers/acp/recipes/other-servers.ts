/** The MCP servers that a user and a project have declared for an agent, by name: to switch each of them off. */
import { dirname, join } from "node:path";
import { isObject, type Json } from "../../cli-harness/fields.ts";
import { DriverError } from "../../driver.ts";
import { planeServer } from "../tool-calls.ts";
import { readSettings } from "./settings.ts";

/** The names in all of these files that exist, each once. */
export async function declaredServers(
  files: readonly string[],
  serversOf: (settings: Json) => unknown[],
): Promise<string[]> {
  const settings = await Promise.all(files.map(readSettings));
  return [...new Set(settings.flatMap((one) => (one === null ? [] : serversOf(one).flatMap(namesOfServers))))];
}

/** For agents that would start a server of the plane's name in its place, or beside it. */
export async function refusePlaneName(
  program: string,
  files: readonly string[],
  serversOf: (settings: Json) => unknown[],
): Promise<void> {
  for (const file of files) {
    if (!(await declaredServers([file], serversOf)).includes(planeServer)) continue;
    const message = `${file} declares an MCP server "${planeServer}", and ${program} would not tell it from Aegis's own.`;
    throw new DriverError({ code: "start", message, fix: "Give that server another name." });
  }
}

/** Where most agents list servers in their settings. */
export function serversOf({ mcpServers, servers }: Json): unknown[] {
  return [mcpServers, servers];
}

/** The folder and all above it: a project's settings may lie in any of them. */
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
