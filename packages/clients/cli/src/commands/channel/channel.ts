/** `aegis channel`: shows the channels of a project, pairs people with them and tests them. */

import type { ChannelView } from "@aegis/contract/channel.ts";
import { ensureProjectDaemon, noProject } from "../../daemon/connection.ts";
import { table } from "../../format/columns.ts";
import type { Style } from "../../format/style.ts";
import { plural } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { CliError, usageError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { channelCommands } from "./spec.ts";

export const list: Handler<typeof channelCommands.list> = async (cx) => {
  const connection = await ensureProjectDaemon(cx);
  if (connection === null) return cx.show({ channels: [] }, noProject);
  const answer = await connection.client.call("listChannels");
  if (answer.channels.length === 0)
    return cx.show(
      answer,
      "No channel is configured; docs/channels.md describes messengers, webhooks and notifications.",
    );
  const { style } = cx;
  const now = Date.now();
  cx.show(answer, () => [
    ...table(cx, ["CHANNEL", "STATE", "SINCE", "WAITING", "FAILED", "DETAIL"], answer.channels, (one) => [
      { text: one.name, paint: style.cyan },
      { text: one.state, paint: paintOf(one, style) },
      relativeTime(one.since, now),
      String(one.waiting),
      String(one.failed),
      one.detail,
    ]),
    ...answer.channels.flatMap((one) => moreLines(one, style)),
  ]);
};

export const pair: Handler<typeof channelCommands.pair> = async (cx, args) => {
  const answer = await cx.call("pairChannel", { path: { channel: args.channel ?? (await soleChannel(cx)) } });
  const { code, link, channel } = answer.pairing;
  cx.show(answer, () => [
    `Code: ${cx.style.bold(code)}`,
    link === null ? `Send this message to ${channel} within 10 minutes: /start ${code}` : `Open ${link}`,
    ...(link === null ? [] : [`or send this message to the bot within 10 minutes: /start ${code}`]),
  ]);
};

/** The only channel with people that the project has. */
async function soleChannel(cx: Terminal): Promise<string> {
  const { channels } = await cx.call("listChannels");
  const [sole, ...others] = channels.flatMap(({ kind, name }) => (kind === "people" ? [name] : []));
  if (sole !== undefined && others.length === 0) return sole;
  if (sole !== undefined)
    throw usageError(
      `several channels have people: ${[sole, ...others].join(", ")}`,
      `name one: aegis channel pair ${sole}`,
    );
  throw new CliError(exitCodes.failed, "no channel with people is configured", {
    hint: "docs/channels.md describes how to add one",
  });
}

export const unpair: Handler<typeof channelCommands.unpair> = async (cx, args) => {
  const answer = await cx.call("unpairChannel", { path: { channel: args.channel }, body: { peer: args.peer } });
  cx.show(answer, answer.removed ? `${args.peer} can no longer use ${args.channel}.` : `${args.peer} was not paired.`);
  return answer.removed ? exitCodes.ok : exitCodes.failed;
};

export const test: Handler<typeof channelCommands.test> = async (cx, args) => {
  const answer = await cx.call("testChannel", { path: { channel: args.channel } });
  cx.show(answer, answer.detail);
};

function moreLines({ name, fix, peers, ignored }: ChannelView, style: Style): string[] {
  return [
    ...(fix === null ? [] : [`${style.yellow(name)}: ${fix}`]),
    ...peers.map(({ peer, name: who, paired_at }) => {
      const how = paired_at === null ? "listed in the configuration" : `paired ${relativeTime(paired_at, Date.now())}`;
      return style.dim(`${name}: ${peer} ${who} (${how})`.replace("  (", " ("));
    }),
    ...(ignored === 0 ? [] : [style.dim(`${name}: ignored ${plural(ignored, "message")} from others`)]),
  ];
}

function paintOf({ state }: ChannelView, style: Style): (text: string) => string {
  if (state === "ok") return style.green;
  return state === "unauthorized" || state === "off" ? style.red : style.yellow;
}
