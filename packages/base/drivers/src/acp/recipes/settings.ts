/**
 * The user's files of an agent: settings (JSON with comments, of which Aegis changes a copy), the MCP servers that they
 * declare, and the links from a session's own home to all other files, including the login.
 */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifMissing, isErrno } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { isObject, type JsonFields } from "../../cli-harness/fields.ts";
import { DriverError } from "../../driver.ts";
import type { AcpLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";

/** Null if the file does not exist. A broken file is an error: a session without it would have other rights. */
export async function readSettings(path: string): Promise<JsonFields | null> {
  try {
    const value: unknown = parseSettings(await readFile(path, "utf8"));
    if (isObject(value)) return value;
    throw new Error("expected a JSON object");
  } catch (cause) {
    if (isErrno(cause, "ENOENT", "ENOTDIR")) return null;
    throw new DriverError({ code: "start", message: `${path} cannot be read: ${errorText(cause)}` }, { cause });
  }
}

/** JSON as agents accept it: with comments and trailing commas. */
export function parseSettings(text: string): unknown {
  const json = plainJson(text).trim();
  return json === "" ? {} : JSON.parse(json);
}

/** Merges `over` into `base`, object by object. */
export function mergeSettings(base: JsonFields, over: JsonFields): JsonFields {
  const merged: JsonFields = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? mergeSettings(before, value) : value;
  }
  return merged;
}

/** Removes comments and trailing commas. Strings are matched too, so that they stay unchanged. */
function plainJson(text: string): string {
  const comments = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  const commas = /"(?:\\.|[^"\\])*"|,(?=\s*[}\]])/g;
  const keepStrings = (found: string) => (found.startsWith('"') ? found : "");
  return text.replace(comments, keepStrings).replace(commas, keepStrings);
}

/** `folder` is the copy below the state folder; `own` lists the entries that are not shared. */
export async function linksTo(users: string, folder: string, own: ReadonlySet<string>): Promise<AcpLaunch["links"]> {
  const shared = (await entriesOf(users)).filter((entry) => !own.has(entry));
  return shared.map((entry) => ({ name: join(folder, entry), target: join(users, entry) }));
}

export async function entriesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch(ifMissing([]));
}

/** The names in all of these files that exist, without duplicates. */
export async function declaredServers(
  files: readonly string[],
  serversOf: (settings: JsonFields) => unknown[],
): Promise<string[]> {
  const settings = await Promise.all(files.map(readSettings));
  return [...new Set(settings.flatMap((one) => (one === null ? [] : serversOf(one).flatMap(namesOfServers))))];
}

/** For agents that would start a server with the plane's name instead of the plane, or in addition to it. */
export async function refusePlaneName(
  program: string,
  files: readonly string[],
  serversOf: (settings: JsonFields) => unknown[],
): Promise<void> {
  for (const file of files) {
    if (!(await declaredServers([file], serversOf)).includes(planeServer)) continue;
    const message = `${file} declares an MCP server "${planeServer}", which ${program} cannot distinguish from Aegis's own.`;
    throw new DriverError({ code: "start", message, fix: "Give that server another name." });
  }
}

/** Where most agents list servers in their settings. */
export function serversOf({ mcpServers, servers }: JsonFields): unknown[] {
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
