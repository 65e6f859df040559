/** Starts a channel that a plugin provides, with the settings of the project. */

import { pluginChannelSettingsSchema } from "@aegis/contract/channel-message.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { plainMessage } from "@aegis/lib/issue-words.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { WorkerChannel } from "@aegis/plugins/contribute.ts";
import { type ConversationOptions, startConversation } from "../conversation/conversation.ts";
import type { RunningChannel } from "../running.ts";
import { createPluginChannel } from "./channel.ts";

export type StartPluginChannelOptions = Pick<
  ConversationOptions,
  "store" | "clock" | "log" | "sessions" | "inbox" | "asks" | "agents" | "attachments" | "root" | "dir"
> & {
  redact: Redact;
  remote: WorkerChannel;
  /** The value of `plugins.<plugin>.channels.<channel>`. */
  settings: unknown;
};

/** Throws `AegisError` if a setting is wrong. */
export function startPluginChannel(options: StartPluginChannelOptions): RunningChannel {
  const { remote, settings, redact, store, clock, log, sessions, inbox, asks, agents, attachments, root, dir } =
    options;
  const { name, plugin } = remote;
  const key = `plugins.${plugin}.channels.${name}`;
  const read = pluginChannelSettingsSchema.safeParse(settings ?? {});
  if (!read.success) {
    const [issue] = read.error.issues;
    const at = [key, ...(issue?.path.map(String) ?? [])].join(".");
    throw new AegisError("invalid", `${at}: ${plainMessage(issue?.message ?? "wrong value")}`, {
      hint: "correct the setting; docs/channels.md lists the settings of a plugin's channel",
    });
  }
  const { users, chats, agent, notify, threads, enabled } = read.data;
  if (!enabled) throw new AegisError("invalid", "turned off by its setting", { hint: `set ${key}.enabled to true` });
  if (agent !== undefined) agents.startable(agent);
  return startConversation({
    store,
    clock,
    log,
    sessions,
    inbox,
    asks,
    agents,
    attachments,
    root,
    dir,
    name,
    channel: createPluginChannel(remote, clock, redact),
    hub: null,
    agent: () => agent,
    threads: () => threads,
    users,
    sharedPlaces: chats,
    showAllAsks: notify === "asks",
    fix: `correct the settings of the plugin ${plugin}, then run: aegis channel test ${name}`,
  });
}
