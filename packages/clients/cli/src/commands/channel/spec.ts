/** Commands about channels: messengers, webhooks and notifications. */
import { argument, command, type Exit } from "../../program/command.ts";

const channel = argument("<channel>", "a channel's name, such as telegram or out:ci");

export const channelCommands = {
  list: command({
    path: "channel list",
    summary: "List the configured channels and their state",
    examples: ["aegis channel list", "aegis channel list --json"],
    run: (cx, args): Exit => import("./channel.ts").then((it) => it.list(cx, args)),
  }),
  pair: command({
    path: "channel pair",
    summary: "Allow one more person to use a channel: shows a code to send to it",
    arguments: { channel: argument("[channel]", "a channel with people (default: the only one)") },
    examples: ["aegis channel pair", "aegis channel pair telegram"],
    notes: ["The code is valid for 10 minutes and for one person. Send it to the channel from your own account."],
    run: (cx, args): Exit => import("./channel.ts").then((it) => it.pair(cx, args)),
  }),
  unpair: command({
    path: "channel unpair",
    summary: "Remove a paired person from a channel",
    arguments: { channel, peer: argument("<person>", "the person's id, as listed by: aegis channel list") },
    examples: ["aegis channel unpair telegram 12345"],
    run: (cx, args): Exit => import("./channel.ts").then((it) => it.unpair(cx, args)),
  }),
  test: command({
    path: "channel test",
    summary: "Check the connection of a channel and send a test message",
    arguments: { channel },
    examples: ["aegis channel test telegram", "aegis channel test out:ci"],
    run: (cx, args): Exit => import("./channel.ts").then((it) => it.test(cx, args)),
  }),
};
