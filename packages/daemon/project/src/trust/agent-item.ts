/** Describes what an agent of the project would run, as an item that the user can trust. */

import { relative } from "node:path";
import type { AgentProfile } from "@aegis/contract/agent.ts";
import { projectServersFile } from "@aegis/drivers/cli-harness/mcp-servers.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { readRegular } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { variablesIn } from "@aegis/lib/variables.ts";
import { settingPart } from "@aegis/plugins/trust/parts.ts";
import { type TrustItem, valueHash } from "@aegis/plugins/trust/trust.ts";
import { optionEffects } from "../config/effects.ts";
import type { Contents } from "./contents.ts";
import { type Behind, NamedFiles } from "./named-files.ts";

/** Sources whose agent files lie in the project. */
const projectSources: readonly string[] = ["config", "project", "claude"];

export function agentKey({ source, slug }: Pick<AgentProfile, "source" | "slug">): string {
  return `${source}/${slug}`;
}

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
  if (!projectSources.includes(agent.source)) return null;
  const files = new NamedFiles({ root, worktree }, contents);
  const { options, env, permission, harness, sandbox, allow, may_end: ends } = agent;
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
  const servers = await keptServers(files, agent);
  if (servers !== null) does.push(servers.what);
  if (permission === "full") does.push("runs anything without asking");
  const reaches = reachedBy(agent);
  does.push(...reaches);
  if (does.length === 0) return null;
  const behind = await files.behind(command);
  if (behind.note !== null) does.push(behind.note);
  const playbook = options.playbook === undefined ? [] : [await files.file(String(options.playbook))];
  const byEnv = await files.namedByEnv(env);
  const hash = valueHash({
    harness,
    options,
    env,
    permission,
    contents: [...behind.words, ...playbook],
    ...(Object.keys(byEnv).length === 0 ? {} : { behind: byEnv }),
    ...(behind.more === null ? {} : { more: behind.more }),
    ...(ends.length === 0 ? {} : { ends }),
    ...(servers === null ? {} : { mcp: servers.hashed }),
    ...(reaches.length === 0 ? {} : { sandbox, allow }),
  });
  const file = agent.file === null ? configFileName : relative(root, agent.file);
  const parts = async () => ({ ...settingParts(agent), ...(await files.parts()) });
  return { kind: "agent", name: agentKey(agent), what: does.join("; "), hash, file, parts };
}

/** What the agent reaches beyond the sandbox of the project. */
function reachedBy({ sandbox, allow }: AgentProfile): string[] {
  const { write = [], read = [], hosts = [] } = allow ?? {};
  return [
    ...(sandbox === "off" ? ["works without a sandbox"] : []),
    ...(write.length === 0 ? [] : [`may change ${write.join(", ")}`]),
    ...(read.length === 0 ? [] : [`may read ${read.join(", ")}`]),
    ...(hosts.length === 0 ? [] : [`may connect to ${hosts.join(", ")}`]),
  ];
}

function settingParts({ harness, options, env, permission, may_end, mcp, sandbox, allow }: AgentProfile) {
  const reach = sandbox === null && allow === null ? {} : { sandbox, allow };
  const values = Object.entries({ harness, permission, may_end, mcp, ...reach });
  const named = [
    ...values.map(([name, value]) => [name, value] as const),
    ...Object.entries(options).map(([name, value]) => [name, value] as const),
    ...Object.entries(env).map(([name, value]) => [`env ${name}`, value] as const),
  ];
  return Object.fromEntries(named.map(([name, value]) => [`the setting ${name}`, settingPart(value)]));
}

/** The MCP servers that the agent keeps, with the content of `.mcp.json` and of the project files that it names. */
async function keptServers(
  files: NamedFiles,
  { mcp, harness }: AgentProfile,
): Promise<{ what: string; hashed: unknown } | null> {
  if (mcp === "none" || mcp.length === 0) return null;
  const file = await files.file(projectServersFile);
  const declared = file === null ? {} : await projectServers(await files.placeOf(projectServersFile));
  const named = mcp === "inherit" ? Object.keys(declared) : mcp.filter((name) => Object.hasOwn(declared, name));
  const behind: Behind[] = [];
  for (const name of named) behind.push(await files.behind(commandWords(declared[name])));
  const starts = named.map(
    (name) => `${name} (${commandWords(declared[name]).join(" ") || addressOf(declared[name])})`,
  );
  const taken = variablesIn(named.map((name) => declared[name])).map((name) => name.replace(/:-.*$/s, ""));
  const own = mcp === "inherit" ? "" : mcp.filter((name) => !named.includes(name)).join(", ");
  const env: Record<string, string> = {};
  for (const name of named) Object.assign(env, await files.namedByEnv(envOf(declared[name])));
  const what = [
    mcp === "inherit"
      ? `keeps the MCP servers of ${harness ?? "its harness"}`
      : own === ""
        ? ""
        : `keeps the MCP servers ${own}`,
    starts.length === 0 ? "" : `uses the MCP servers ${starts.join(", ")} of ${projectServersFile}`,
    taken.length === 0 ? "" : `gives them ${taken.join(", ")} of your environment`,
    ...behind.map(({ note }, index) => (note === null ? "" : `MCP server ${named[index]}: ${note}`)),
  ];
  const more = behind.flatMap((one) => (one.more === null ? [] : [one.more]));
  const hashed = {
    mcp,
    file,
    contents: behind.flatMap(({ words }) => words),
    ...(more.length === 0 ? {} : { more }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
  };
  return { what: what.filter((part) => part !== "").join("; "), hashed };
}

async function projectServers(file: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(String(await readRegular(file)));
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

function envOf(server: unknown): Record<string, string> {
  if (!isRecord(server) || !isRecord(server.env)) return {};
  return Object.fromEntries(Object.entries(server.env).map(([name, value]) => [name, String(value)]));
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
