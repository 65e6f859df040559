/** Describes what an agent of the project would run, as an item that the user can trust. */

import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import type { AgentProfile } from "@aegis/contract/agent.ts";
import { projectServersFile } from "@aegis/drivers/cli-harness/mcp-servers.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { containedPath, exists, isInside } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { variablesIn } from "@aegis/lib/variables.ts";
import { type TrustItem, valueHash } from "@aegis/plugins/trust/trust.ts";
import { optionEffects } from "../config/effects.ts";
import type { Contents } from "./contents.ts";

/** Sources whose agent files lie in the project. */
const projectSources: readonly string[] = ["config", "project", "claude"];

export function agentKey({ source, slug }: Pick<AgentProfile, "source" | "slug">): string {
  return `${source}/${slug}`;
}

/** The project's folder, and the worktree in which the agent works: relative paths name its files there. */
type Places = { root: string; worktree: string | null };

/**
 * Null for an agent that only uses an installed harness and has no permission beyond asking. In a worktree the files
 * that it names must have the content that the user agreed to.
 */
export async function agentItem(
  root: string,
  agent: AgentProfile,
  contents: Contents,
  worktree: string | null = null,
): Promise<TrustItem | null> {
  const places = { root, worktree };
  if (!projectSources.includes(agent.source)) return null;
  const { options, env, permission, harness, may_end: ends } = agent;
  const does: string[] = [];
  const command = commandOf(agent);
  if (command.length > 0) does.push(`starts ${command.join(" ")}`);
  // The harness's own permission mode, which may grant everything.
  if (options.mode !== undefined) does.push(`works in the mode ${String(options.mode)}`);
  if (options.playbook !== undefined) does.push(`follows ${String(options.playbook)}`);
  if (options.allow_private_fetch === true) does.push("may fetch from private addresses");
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(optionEffects, name));
  if (unknown.length > 0) does.push(`sets ${unknown.join(", ")} of ${harness ?? "its harness"}`);
  if (Object.keys(env).length > 0) does.push(`sets ${Object.keys(env).join(", ")} for ${harness ?? "its harness"}`);
  const taken = variablesIn(env);
  if (taken.length > 0) does.push(`gives it ${taken.join(", ")} of your environment`);
  if (ends.length > 0) does.push(`may end what ${ends.join(", ")} do`);
  const servers = await keptServers(places, agent, contents);
  if (servers !== null) does.push(servers.what);
  if (permission === "full") does.push("runs anything without asking");
  if (does.length === 0) return null;
  // The program or the playbook may be a file of the project; its content counts then.
  const named = [...command.map(pathIn), ...(options.playbook === undefined ? [] : [String(options.playbook)])];
  const hashes = await Promise.all(named.map((path) => namedIn(places, path, contents)));
  const behind = await namedByEnv(places, env, contents);
  const hash = valueHash({
    ...{ harness, options, env, permission, contents: hashes },
    ...(Object.keys(behind).length === 0 ? {} : { behind }),
    ...(ends.length === 0 ? {} : { ends }),
    ...(servers === null ? {} : { mcp: servers.hashed }),
  });
  const file = agent.file === null ? configFileName : relative(root, agent.file);
  return { kind: "agent", name: agentKey(agent), what: does.join("; "), hash, file };
}

/** The MCP servers that the agent keeps, with the content of `.mcp.json` and of the project files that it names. */
async function keptServers(
  places: Places,
  { mcp, harness }: AgentProfile,
  contents: Contents,
): Promise<{ what: string; hashed: unknown } | null> {
  if (mcp === "none" || mcp.length === 0) return null;
  const file = await namedIn(places, projectServersFile, contents);
  const declared = file === null ? {} : await projectServers(await placeOf(places, projectServersFile));
  const named = mcp === "inherit" ? Object.keys(declared) : mcp.filter((name) => Object.hasOwn(declared, name));
  const words = named.flatMap((name) => commandWords(declared[name]));
  const hashes = await Promise.all(words.map((word) => namedIn(places, pathIn(word), contents)));
  const starts = named.map(
    (name) => `${name} (${commandWords(declared[name]).join(" ") || addressOf(declared[name])})`,
  );
  const taken = variablesIn(named.map((name) => declared[name])).map((name) => name.replace(/:-.*$/s, ""));
  const own = mcp === "inherit" ? "" : mcp.filter((name) => !named.includes(name)).join(", ");
  const what = [
    mcp === "inherit"
      ? `keeps the MCP servers of ${harness ?? "its harness"}`
      : own === ""
        ? ""
        : `keeps the MCP servers ${own}`,
    starts.length === 0 ? "" : `uses the MCP servers ${starts.join(", ")} of ${projectServersFile}`,
    taken.length === 0 ? "" : `gives them ${taken.join(", ")} of your environment`,
  ];
  return { what: what.filter((part) => part !== "").join("; "), hashed: { mcp, file, contents: hashes } };
}

/** A file that the worktree does not have is the one of the project: nothing else can run under that name. */
async function placeOf({ root, worktree }: Places, path: string): Promise<string> {
  if (worktree === null || isAbsolute(path)) return resolve(root, path);
  const there = resolve(worktree, path);
  return (await exists(there)) ? there : resolve(root, path);
}

async function namedIn(places: Places, path: string, contents: Contents): Promise<string | null> {
  const { root, worktree } = places;
  if (worktree === null || path.includes("\0")) return contents.named(root, path);
  const place = await placeOf(places, path);
  if (!isInside(worktree, place)) return contents.named(root, path);
  const real = await realpath(place);
  // A linked file of the project, such as one in `node_modules`.
  return isInside(root, real) && !path.startsWith("-") ? contents.file(real) : contents.named(worktree, path);
}

async function projectServers(file: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isRecord(value) && isRecord(value.mcpServers) ? value.mcpServers : {};
  } catch {
    // The start of the agent reads the file again and starts no server from an unreadable file.
    return {};
  }
}

function commandWords(server: unknown): string[] {
  if (!isRecord(server) || typeof server.command !== "string") return [];
  return [server.command, ...(Array.isArray(server.args) ? server.args.map(String) : [])];
}

function addressOf(server: unknown): string {
  return isRecord(server) ? String(server.url ?? "") : "";
}

function commandOf({ options }: AgentProfile): string[] {
  return [options.command, options.args]
    .flat()
    .filter((part) => part !== undefined)
    .map(String);
}

/** `--import=./setup.mjs` names a file too. */
function pathIn(part: string): string {
  return /^--?[^=]+=(.+)$/s.exec(part)?.[1] ?? part;
}

/** The project files that variables such as `NODE_OPTIONS` or `BASH_ENV` name, and the folders of search paths. */
async function namedByEnv(
  places: Places,
  env: Readonly<Record<string, string>>,
  contents: Contents,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    for (const path of new Set(value.split(/[\s:=,]+/).filter((part) => part !== ""))) {
      const hash =
        (await namedIn(places, path, contents)) ?? (/PATH$/i.test(name) ? await folder(places, path, contents) : null);
      if (hash !== null) found[`${name} ${path}`] = hash;
    }
  }
  return found;
}

async function folder({ root: project, worktree }: Places, path: string, contents: Contents): Promise<string | null> {
  const isThere = worktree !== null && !isAbsolute(path) && (await exists(resolve(worktree, path)));
  const root = isThere ? worktree : project;
  const inside = await containedPath(root, path).catch(() => null);
  // Hashing the whole project as a search path would change with every edit; `aegis trust` shows the variable.
  if (inside === null || inside === (await containedPath(root, "."))) return null;
  const found = await stat(inside).catch(() => null);
  return found?.isDirectory() === true ? contents.tree(inside, ["node_modules", ".git"]) : null;
}
