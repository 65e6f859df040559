/** Starts Telegram with the settings of the project. Loading this module loads the Bot API library. */
import { type ConversationOptions, startConversation } from "../conversation/conversation.ts";
import type { RunningChannel } from "../running.ts";
import { createTelegram } from "./telegram.ts";

type TelegramSettings = {
  token: string;
  apiRoot: string | undefined;
  users: readonly number[];
  chats: readonly number[];
  agent: string | undefined;
  notify: "own" | "asks";
  topics: boolean;
  stream: "edit" | "off";
};

export type StartTelegramOptions = Pick<
  ConversationOptions,
  "store" | "clock" | "log" | "sessions" | "inbox" | "asks" | "agents" | "attachments" | "root" | "dir"
> & { settings: TelegramSettings; hub: NonNullable<ConversationOptions["hub"]> };

export function startTelegram(options: StartTelegramOptions): RunningChannel {
  const { settings, hub, store, clock, log, sessions, inbox, asks, agents, attachments, root, dir } = options;
  const { token, apiRoot, users, chats, agent, notify, topics, stream } = settings;
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
    name: "telegram",
    channel: createTelegram({ token, root: apiRoot, clock }),
    hub: stream === "edit" ? hub : null,
    agent: () => agent,
    threads: () => topics,
    users: users.map(String),
    sharedPlaces: chats.map(String),
    showAllAsks: notify === "asks",
    fix: "set the token that @BotFather shows, then restart the daemon or run: aegis channel test telegram",
  });
}
