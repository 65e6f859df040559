/**
 * The MCP servers besides the plane that an agent's `mcp` permits: those of the project's `.mcp.json`, which work with
 * every harness, and those configured in its harness, which only some harnesses can keep selectively.
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import { planeServer } from "@aegis/contract/tool-names.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { errorText } from "@aegis/lib/log.ts";
import { expandVariables } from "@aegis/lib/variables.ts";
import type { ConversationSpec } from "../driver.ts";
import { isObject, type JsonFields } from "./fields.ts";

export const projectServersFile = ".mcp.json";

type McpServer =
  | { type: "stdio"; command: string; args: string[]; env: Record<string, string> }
  | { type: "http" | "sse"; url: string; headers: Record<string, string> };

export type ChosenServers = {
  /** From `.mcp.json`, by name. */
  project: ReadonlyMap<string, McpServer>;
  /** The harness's own servers that it keeps: all of them, or these. */
  own: "all" | readonly string[];
};

const nothing: ChosenServers = { project: new Map(), own: [] };

/** Whether the agent may have any server besides the plane. An agent that is limited to a list of tools has none. */
function keepsServers({ mcp, within = [] }: Pick<Agent, "mcp" | "within">): boolean {
  return mcp !== "none" && mcp.length > 0 && within.every((names) => names.includes("*"));
}

export function keepsOwn(name: string, { own }: Pick<ChosenServers, "own">): boolean {
  return own === "all" || own.includes(name);
}

/**
 * Reads the trusted content of `.mcp.json`. Reports problems as notices; the agent starts without the affected servers.
 */
export async function chosenServers(spec: ConversationSpec, env: Environment): Promise<ChosenServers> {
  const { agent, host } = spec;
  const { mcp } = agent;
  const warn = (text: string) => host.notice({ level: "warning", text });
  if (!keepsServers(agent)) {
    if (mcp !== "none" && mcp.length > 0)
      warn("This session is limited to a list of tools, so its agent's MCP servers are not started.");
    return nothing;
  }
  const declared = await declaredInProject(spec, warn);
  const wanted = mcp === "inherit" ? Object.keys(declared) : [...mcp];
  const project = new Map<string, McpServer>();
  for (const name of wanted) {
    if (!Object.hasOwn(declared, name)) continue;
    const server = name === planeServer ? `Aegis's own server has this name` : readServer(declared[name], env);
    if (typeof server === "string") warn(`The MCP server "${name}" of ${projectServersFile} is left out: ${server}.`);
    else project.set(name, server);
  }
  return { project, own: mcp === "inherit" ? "all" : wanted.filter((name) => !Object.hasOwn(declared, name)) };
}

async function declaredInProject({ cwd, host }: ConversationSpec, warn: (text: string) => void): Promise<JsonFields> {
  const file = join(cwd, projectServersFile);
  if ((await stat(file).catch(() => null))?.isFile() !== true) return {};
  const bytes = await host.agreedFile(file);
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (isObject(value) && isObject(value.mcpServers)) return value.mcpServers;
    warn(`${projectServersFile} is left out: expected a map "mcpServers".`);
  } catch (error) {
    warn(`${projectServersFile} is left out: ${errorText(error)}.`);
  }
  return {};
}

/** The server, or why it cannot be used. Variables come from the daemon's environment, as in `agents.<name>.env`. */
function readServer(entry: unknown, env: Environment): McpServer | string {
  if (!isObject(entry)) return "expected a map";
  const missing: string[] = [];
  const text = (value: unknown) => {
    const [, name, fallback] = /^\$\{(\w+):-([^}]*)\}$/.exec(String(value)) ?? [];
    if (name !== undefined) return env[name] || (fallback ?? "");
    const expanded = expandVariables(String(value), env);
    missing.push(...expanded.missing);
    return expanded.text;
  };
  const map = (value: unknown) =>
    Object.fromEntries(Object.entries(isObject(value) ? value : {}).map(([key, one]) => [key, text(one)]));
  const { command, args, url, type } = entry;
  let server: McpServer;
  if (typeof command === "string" && command !== "")
    server = {
      type: "stdio",
      command: text(command),
      args: Array.isArray(args) ? args.map(text) : [],
      env: map(entry.env),
    };
  else if (typeof url === "string" && url !== "")
    server = { type: type === "sse" ? "sse" : "http", url: text(url), headers: map(entry.headers) };
  else return "expected a command or a url";
  return missing.length === 0 ? server : `the variable ${missing.join(", ")} is not set in the daemon's environment`;
}
