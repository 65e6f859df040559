/** MCP servers besides the plane, as ACP parameters and as flags that list allowed servers. */
import { type ChosenServers, projectServersFile } from "../cli-harness/mcp-servers.ts";
import { planeServer } from "./tool-calls.ts";

type Abilities = { http?: boolean | null | undefined; sse?: boolean | null | undefined } | null | undefined;

/** For `session/new`. Every agent accepts a command; URLs only if the agent supports them. */
export function sessionServers({ project }: ChosenServers, can: Abilities, warn: (text: string) => void): unknown[] {
  const pairs = (map: Readonly<Record<string, string>>) =>
    Object.entries(map).map(([name, value]) => ({ name, value }));
  return [...project].flatMap(([name, server]): unknown[] => {
    if (server.type === "stdio") return [{ name, command: server.command, args: server.args, env: pairs(server.env) }];
    if (can?.[server.type] === true)
      return [{ type: server.type, name, url: server.url, headers: pairs(server.headers) }];
    const text = `The MCP server "${name}" of ${projectServersFile} is left out: the agent cannot use servers of the type ${server.type}.`;
    warn(text);
    return [];
  });
}

/** Flags that exclude all servers but the plane and the chosen ones; none if the agent keeps all of its own. */
export function allowedServers(flag: string, { project, own }: ChosenServers): string[] {
  if (own === "all") return [];
  return [planeServer, ...project.keys(), ...own].flatMap((name) => [flag, name]);
}
