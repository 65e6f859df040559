/** `aegis group …`: several sessions that are asked together. */
import type { Client } from "../../client/client.ts";
import type { ApiBody } from "../../contract/api.ts";
import type { GroupResult } from "../../contract/group.ts";
import { type BroadcastId, isId } from "../../contract/ids.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { groupTable, memberTable } from "../format/group-table.ts";
import { createStyle } from "../format/style.ts";
import { oneLine, plainText } from "../format/text.ts";
import { textArgument } from "../input-text.ts";
import type { Terminal } from "../terminal.ts";

export async function groupList(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listGroups");
  if (cx.json) cx.printJson(answer);
  else if (answer.groups.length === 0) {
    cx.print("No groups.");
    cx.print("Make one with: aegis group spawn <group> <agent...>");
  } else for (const line of groupTable(answer.groups, tableOptions(cx))) cx.print(line);
  return exitCodes.ok;
}

export type GroupSpawnArgs = {
  group: string;
  agents: readonly string[];
  preset: string | undefined;
  handle: string | undefined;
};

export async function groupSpawn(cx: Terminal, args: GroupSpawnArgs): Promise<number> {
  const { group, agents, preset, handle } = args;
  if ((agents.length === 0) === (preset === undefined)) {
    throw usageError("expected agents or --preset, and not both", "aegis agents lists the agents");
  }
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("spawnGroup", {
    path: { group },
    body: { ...(preset === undefined ? { agents: [...agents] } : { preset }), ...(handle && { handle }) },
  });
  if (cx.json) cx.printJson(answer);
  else {
    for (const one of answer.handles) cx.print(one);
    cx.warn(`ask them with: aegis group broadcast ${group} "…"`);
  }
  return exitCodes.ok;
}

export type GroupBroadcastArgs = {
  group: string;
  objective: string | undefined;
  outputFormat: string | undefined;
  toolGuidance: string | undefined;
  boundaries: string | undefined;
  id: string | undefined;
};

export async function groupBroadcast(cx: Terminal, args: GroupBroadcastArgs): Promise<number> {
  const id = args.id === undefined ? undefined : broadcastId(args.id);
  const objective = await textArgument(cx, args.objective, "objective");
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("broadcastGroup", {
    path: { group: args.group },
    body: {
      objective,
      ...(id === undefined ? {} : { id }),
      ...(args.outputFormat === undefined ? {} : { output_format: args.outputFormat }),
      ...(args.toolGuidance === undefined ? {} : { tool_guidance: args.toolGuidance }),
      ...(args.boundaries === undefined ? {} : { boundaries: args.boundaries }),
    },
  });
  if (cx.json) cx.printJson(answer);
  else {
    cx.print(answer.broadcast.id);
    cx.warn(`asked ${answer.broadcast.members.map((member) => member.handle).join(", ")}`);
  }
  return exitCodes.ok;
}

export type GroupWaitArgs = {
  group: string;
  any: boolean;
  keepLosers: boolean;
  timeoutMs: number | undefined;
  reducer: string | undefined;
  broadcast: string | undefined;
};

/** Exit code 1 when a member has no good reply, or with `--any` when nobody has. */
export async function groupWait(cx: Terminal, args: GroupWaitArgs): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const result = await waitFor(client, args.group, args.timeoutMs, {
    mode: args.any ? "any" : "all",
    cancel_losers: !args.keepLosers,
    ...(args.reducer === undefined ? {} : { reducer: args.reducer }),
    ...(args.broadcast === undefined ? {} : { broadcast: broadcastId(args.broadcast) }),
  });
  if (cx.json) cx.printJson(result);
  else report(cx, args.group, result);
  const good = Object.values(result.by_member).some((reply) => reply.status === "ok");
  const whole = Object.keys(result.errors).length === 0 && result.timeouts.length === 0;
  return (args.any ? good : whole) ? exitCodes.ok : exitCodes.failed;
}

export async function groupStatus(cx: Terminal, args: { group: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("getGroup", { path: { group: args.group } });
  if (cx.json) {
    cx.printJson(answer);
    return exitCodes.ok;
  }
  for (const line of memberTable(answer.group, tableOptions(cx))) cx.print(line);
  const { broadcast } = answer.group;
  if (broadcast === null) cx.print("Nothing was asked yet.");
  else {
    const state = broadcast.settled_at === null ? "open" : "settled";
    cx.print(`${broadcast.id} (${state}): ${oneLine(broadcast.objective)}`);
  }
  return exitCodes.ok;
}

export async function groupDissolve(cx: Terminal, args: { group: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("dissolveGroup", { path: { group: args.group } });
  if (cx.json) cx.printJson(answer);
  else {
    const { closed } = answer;
    cx.print(`dissolved ${answer.group}${closed.length === 0 ? "" : `, closed ${closed.join(", ")}`}`);
  }
  return exitCodes.ok;
}

/** Asked again and again: a client gives up on an answer that takes minutes to begin. */
const longestRequestMs = 60_000;

async function waitFor(
  client: Client,
  group: string,
  timeoutMs: number | undefined,
  body: ApiBody<"waitGroup">,
): Promise<GroupResult> {
  const ask = (timeout: number, more: ApiBody<"waitGroup"> = {}) =>
    client.call("waitGroup", { path: { group }, body: { ...body, ...more, timeout } });
  let result = await ask(0);
  if (result.timeouts.length === 0) return result;
  const limit = timeoutMs ?? (await client.call("getGroup", { path: { group } })).group.timeout * 1000;
  const deadline = Date.now() + limit;
  while (result.timeouts.length > 0 && Date.now() < deadline) {
    const left = Math.min(deadline - Date.now(), longestRequestMs);
    // The broadcast that was looked at first: another one may be sent meanwhile.
    result = await ask(Math.max(0, left) / 1000, { broadcast: result.broadcast_id });
  }
  return result;
}

function report(cx: Terminal, group: string, { combined, errors, timeouts }: GroupResult): void {
  const style = createStyle(cx.color);
  const text = typeof combined === "string" ? plainText(combined) : JSON.stringify(combined, null, 2);
  if (text !== "") cx.print(text);
  for (const [handle, error] of Object.entries(errors)) cx.warn(style.yellow(`${handle}: ${oneLine(error)}`));
  if (timeouts.length === 0) return;
  cx.warn(style.yellow(`no reply yet: ${timeouts.join(", ")}`));
  cx.warn(`wait again with: aegis group wait ${group}`);
}

function broadcastId(text: string): BroadcastId {
  if (isId("brd", text)) return text;
  throw usageError(`"${text}" is not a broadcast's id: expected one that starts with brd_`);
}

function tableOptions(cx: Terminal) {
  return { color: cx.color, width: cx.columns, now: Date.now() };
}
