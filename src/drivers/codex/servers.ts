/** The MCP servers of a Codex thread besides the plane. */

import { planeServer } from "../../contract/tool-names.ts";
import type { Environment } from "../../lib/child-env.ts";
import { type Json, objectAt } from "../cli-harness/fields.ts";
import { chosenServers, keepsOwn, projectServersFile } from "../cli-harness/mcp-servers.ts";
import type { ConversationSpec } from "../driver.ts";
import type { Rpc } from "./rpc.ts";

/** The servers of a thread are added to the user's own, so those that its agent does not keep are disabled. */
export async function otherServers(rpc: Rpc, spec: ConversationSpec, env: Environment): Promise<Json> {
  const chosen = await chosenServers(spec, env);
  const answer = await rpc.call("config/read", { cwd: spec.cwd }).catch(() => ({}) as Json);
  const names = Object.keys(objectAt(objectAt(answer, "config"), "mcp_servers"));
  const off = names.filter((name) => name !== planeServer && !keepsOwn(name, chosen));
  const missing = chosen.own === "all" ? [] : chosen.own.filter((name) => !names.includes(name));
  const warn = (text: string) => spec.host.notice({ level: "warning", text });
  if (missing.length > 0)
    warn(
      `No MCP server ${missing.join(", ")}: neither ${projectServersFile} nor Codex's settings have one of that name.`,
    );
  const given: Json = {};
  for (const [name, server] of chosen.project) {
    if (server.type === "sse") warn(`The MCP server "${name}" is left out: Codex cannot use servers of the type sse.`);
    else if (server.type === "stdio") given[name] = { command: server.command, args: server.args, env: server.env };
    else given[name] = { url: server.url, http_headers: server.headers };
  }
  return { ...Object.fromEntries(off.map((name) => [name, { enabled: false }])), ...given };
}
