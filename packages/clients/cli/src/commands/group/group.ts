/** `aegis group …`: sends messages to several sessions and collects their replies. */
import type { Client } from "@aegis/client/client.ts";
import type { ApiBody } from "@aegis/contract/api.ts";
import type { Broadcast, GroupResult, GroupView, ReplyStatus } from "@aegis/contract/group.ts";
import { type BroadcastId, isId } from "@aegis/contract/ids.ts";
import { type TableOptions, table, tableOptions } from "../../format/columns.ts";
import type { Style } from "../../format/style.ts";
import { oneLine, plainText } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import { textArgument } from "../../terminal/input-text.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { groupCommands } from "./spec.ts";

export const groupList: Handler<typeof groupCommands.list> = async (cx) => {
  const answer = await cx.call("listGroups");
  const none = ["No groups.", "Create one with: aegis group spawn <group> <agent...>"];
  cx.show(answer, () => (answer.groups.length === 0 ? none : groupTable(answer.groups, tableOptions(cx))));
};

export const groupSpawn: Handler<typeof groupCommands.spawn> = async (cx, args) => {
  const { group, agents, preset, handle } = args;
  if ((agents.length === 0) === (preset === undefined)) {
    throw usageError("expected either agents or --preset", "aegis agents lists the agents");
  }
  const answer = await cx.call("spawnGroup", {
    path: { group },
    body: { ...(preset === undefined ? { agents: [...agents] } : { preset }), ...(handle && { handle }) },
  });
  cx.show(answer, () => {
    cx.tell(answer.handles);
    cx.warn(`send them a request with: aegis group broadcast ${group} "…"`);
  });
};

export const groupBroadcast: Handler<typeof groupCommands.broadcast> = async (cx, args) => {
  const id = args.id === undefined ? undefined : broadcastId(args.id);
  const objective = await textArgument(cx, args.objective, "objective");
  const answer = await cx.call("broadcastGroup", {
    path: { group: args.group },
    body: {
      objective,
      ...given({ id, output_format: args.outputFormat, tool_guidance: args.toolGuidance, boundaries: args.boundaries }),
    },
  });
  cx.show(answer, () => {
    cx.print(answer.broadcast.id);
    cx.warn(`asked ${answer.broadcast.members.map((member) => member.handle).join(", ")}`);
  });
};

/** Exits with 1 if a member has no successful reply, or with `--any` if no member has one. */
export const groupWait: Handler<typeof groupCommands.wait> = async (cx, args) => {
  const { client } = await cx.daemon();
  const result = await waitFor(client, args.group, args.timeoutMs, {
    mode: args.any ? "any" : "all",
    cancel_losers: !args.keepLosers,
    ...given({
      reducer: args.reducer,
      broadcast: args.broadcast === undefined ? undefined : broadcastId(args.broadcast),
    }),
  });
  cx.show(result, () => report(cx, args.group, result));
  const good = Object.values(result.by_member).some((reply) => reply.status === "ok");
  const whole = Object.keys(result.errors).length === 0 && result.timeouts.length === 0;
  return (args.any ? good : whole) ? exitCodes.ok : exitCodes.failed;
};

export const groupStatus: Handler<typeof groupCommands.status> = async (cx, args) => {
  const answer = await cx.call("getGroup", { path: { group: args.group } });
  const { broadcast } = answer.group;
  const state = broadcast?.settled_at === null ? "open" : "settled";
  cx.show(answer, () => [
    ...memberTable(answer.group, tableOptions(cx)),
    broadcast === null ? "Nothing was broadcast yet." : `${broadcast.id} (${state}): ${oneLine(broadcast.objective)}`,
  ]);
};

export const groupDissolve: Handler<typeof groupCommands.dissolve> = async (cx, args) => {
  const answer = await cx.call("dissolveGroup", { path: { group: args.group } });
  const { closed } = answer;
  cx.show(answer, `dissolved ${answer.group}${closed.length === 0 ? "" : `, closed ${closed.join(", ")}`}`);
};

/** Requests are repeated, because a client times out if a response takes minutes to begin. */
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
    // Keep waiting for the first broadcast, even if another one is sent meanwhile.
    result = await ask(Math.max(0, left) / 1000, { broadcast: result.broadcast_id });
  }
  return result;
}

function report(cx: Terminal, group: string, { combined, errors, timeouts }: GroupResult): void {
  const style = cx.style;
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

function groupTable(groups: readonly GroupView[], options: TableOptions): string[] {
  const { style } = options;
  const titles = ["GROUP", "STARTED", "REPLIES", "MEMBERS"];
  return table(options, titles, groups, ({ name, members, broadcast, created_at }) => [
    { text: name, paint: style.cyan },
    relativeTime(created_at, options.now),
    broadcast === null ? "-" : progress(broadcast),
    members.map((member) => member.handle).join(", "),
  ]);
}

function memberTable({ members, broadcast }: GroupView, options: TableOptions): string[] {
  const { style } = options;
  const asked = new Map(broadcast?.members.map((member) => [member.session, member]));
  return table(options, ["MEMBER", "AGENT", "STATE", "REPLY", "WHY"], members, ({ session, handle, agent, state }) => {
    const reply = asked.get(session);
    return [
      { text: handle, paint: style.cyan },
      agent,
      state,
      { text: reply?.status ?? "-", paint: replyPaint(reply?.status, style) },
      reply?.error ?? "",
    ];
  });
}

function progress({ members, settled_at }: Broadcast): string {
  const count = (status: ReplyStatus) => members.filter((member) => member.status === status).length;
  const failed = count("error");
  const done = `${count("ok")}/${members.length}${failed === 0 ? "" : `, ${failed} failed`}`;
  return settled_at === null ? `${done}, open` : done;
}

function replyPaint(status: ReplyStatus | undefined, style: Style): (text: string) => string {
  if (status === "ok") return style.green;
  if (status === "error") return style.red;
  return status === "waiting" ? style.yellow : style.dim;
}
