/**
 * Telegram as a channel. Aegis polls for updates itself: a position is confirmed to Telegram only after the updates
 * before it are stored. Text is sent with entities, never with a parse mode.
 */

import type { Clock } from "@aegis/lib/clock.ts";
import type { Update } from "grammy/types";
import type {
  AskCard,
  Channel,
  ChannelAccount,
  ChannelHost,
  ChannelText,
  ChatPlace,
  Content,
  SendOptions,
} from "../channel.ts";
import { ChannelFault } from "../fault.ts";
import { type TelegramApi, type TelegramApiOptions, telegramApi } from "./api.ts";
import { albumOf, type Bot, inboundsOf, placeOf, readPlace, wantedUpdates } from "./incoming.ts";
import { type Entity, telegramParts } from "./text.ts";

export type TelegramOptions = TelegramApiOptions & { clock: Clock };

const pollSeconds = 50;
const pollGraceSeconds = 10;
const pollLimit = 50;
/** The parts of an album arrive within this time of each other. */
const albumMs = 700;
const mostAlbumRounds = 10;
/** After a week without updates the next id is random, so an old position must not be sent. */
const oldCursorMs = 6 * 24 * 3_600_000;
const privatePaceMs = 1_050;
/** Telegram allows 20 messages a minute in a group. */
const groupPaceMs = 3_100;
/** Edits count as messages; the rest of the limit is for answers and asks. */
const privatePreviewMs = 2_500;
const groupPreviewMs = 9_000;
const longestAcknowledgement = 200;
const repeatedNote = "(This may be a repetition.)\n";

const menu = [
  { command: "sessions", description: "List the sessions" },
  { command: "new", description: "Start a session: /new [agent] [text]" },
  { command: "switch", description: "Change the current session: /switch <handle>" },
  { command: "stop", description: "Interrupt the current turn" },
  { command: "asks", description: "Show the open asks" },
  { command: "help", description: "Show the commands" },
];

export function createTelegram(options: TelegramOptions): Channel {
  const api = telegramApi(options);
  let bot: Bot | null = null;
  let hasPrivateTopics = false;
  return {
    async connect(signal): Promise<ChannelAccount> {
      const me = await api.getMe(signal);
      bot = me;
      hasPrivateTopics = me.has_topics_enabled;
      return {
        id: `telegram:${me.id}`,
        label: `@${me.username}`,
        notes: me.can_read_all_group_messages
          ? []
          : ["in groups the bot sees only commands, mentions and replies (privacy mode)"],
        pairLink: (code) => `https://t.me/${me.username}?start=${code}`,
      };
    },
    async receive(host, signal) {
      if (bot === null) throw new ChannelFault("unreachable", "not connected");
      await api.call("deleteWebhook", { drop_pending_updates: false }, signal);
      await api.call("setMyCommands", { commands: menu }, signal);
      await poll(api, bot, host, options.clock, signal);
    },
    send: (place, content, how) => send(api, place, content, how),
    ask: (place, card, how) => ask(api, place, card, how),
    async typing(place, signal) {
      await api.call("sendChatAction", { ...readPlace(place), action: "typing" }, signal);
    },
    attach: (file, signal) => api.download(file.id, signal),
    async openThread(place, title, signal) {
      const { chat_id } = readPlace(place);
      // Whether a group has topics is known only when one is created.
      if (chat_id > 0 && !hasPrivateTopics) return null;
      try {
        const topic = await api.call("createForumTopic", { chat_id, name: title }, signal);
        return placeOf(chat_id, topic.message_thread_id);
      } catch (error) {
        // The chat has no topics, or the bot may not create them.
        if (error instanceof ChannelFault && (error.kind === "rejected" || error.kind === "blocked")) return null;
        throw error;
      }
    },
    async acknowledge(press, text, signal) {
      const shown = text.slice(0, longestAcknowledgement).toWellFormed();
      await api.call("answerCallbackQuery", { callback_query_id: press, text: shown }, signal);
    },
    preview: {
      everyMs: (place) => (readPlace(place).chat_id < 0 ? groupPreviewMs : privatePreviewMs),
      show: (place, part, shown, signal) => showPreview(api, place, part, shown, signal),
      async remove(place, id, signal) {
        await api.call("deleteMessage", { chat_id: readPlace(place).chat_id, message_id: Number(id) }, signal);
      },
    },
    format: (markdown) => telegramParts(markdown),
    paceMs: (place) => (readPlace(place).chat_id < 0 ? groupPaceMs : privatePaceMs),
    chatOf: (place) => String(readPlace(place).chat_id),
  };
}

async function poll(api: TelegramApi, bot: Bot, host: ChannelHost, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const cursor = await host.cursor();
    const isFresh = cursor !== null && clock.now() - cursor.at < oldCursorMs;
    const offset = isFresh ? { offset: Number(cursor.position) + 1 } : {};
    const get = (timeout: number) =>
      api.call(
        "getUpdates",
        { ...offset, timeout, limit: pollLimit, allowed_updates: [...wantedUpdates] },
        signal,
        timeout + pollGraceSeconds,
      );
    const updates = await wholeAlbums(await get(pollSeconds), () => get(0), clock, signal);
    host.alive();
    const last = updates.at(-1);
    if (last !== undefined) await host.admit(inboundsOf(updates, bot), String(last.update_id));
  }
}

/**
 * The messages of an album are separate updates. If the last update belongs to an album, more of it may follow: the same
 * updates are read again until none follows. They are not confirmed before they are stored, so a crash loses none.
 */
async function wholeAlbums(
  first: readonly Update[],
  readAgain: () => Promise<readonly Update[]>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Update[]> {
  let updates = first;
  for (let round = 0; round < mostAlbumRounds; round++) {
    const last = updates.at(-1);
    const album = last === undefined ? null : albumOf(last);
    if (album === null) return updates;
    if (updates.length >= pollLimit)
      return updates.slice(
        0,
        updates.findIndex((one) => albumOf(one) === album),
      );
    await clock.sleep(albumMs, signal);
    const again = await readAgain();
    if (again.length <= updates.length) return again;
    updates = again;
  }
  return updates;
}

async function send(api: TelegramApi, place: ChatPlace, content: Content, how: SendOptions): Promise<string> {
  if (content.kind === "file") {
    const document = api.file(content.name, content.text);
    const sent = await inThread(place, (to) => api.call("sendDocument", { ...to, document }, how.signal));
    return String(sent.message_id);
  }
  const sent = await inThread(place, (to) =>
    api.call("sendMessage", { ...to, ...textOf(content.part, how.repeated) }, how.signal),
  );
  return String(sent.message_id);
}

async function showPreview(
  api: TelegramApi,
  place: ChatPlace,
  part: ChannelText,
  shown: string | null,
  signal: AbortSignal,
): Promise<string> {
  const text = textOf(part, false);
  if (shown === null) {
    const sent = await inThread(place, (to) =>
      api.call("sendMessage", { ...to, ...text, disable_notification: true }, signal),
    );
    return String(sent.message_id);
  }
  const { chat_id } = readPlace(place);
  try {
    await api.call("editMessageText", { chat_id, message_id: Number(shown), ...text }, signal);
  } catch (error) {
    if (!isUnchanged(error)) throw error;
  }
  return shown;
}

async function ask(
  api: TelegramApi,
  place: ChatPlace,
  { part, choices, reply }: AskCard,
  { settles, repeated, signal }: SendOptions & { settles: string | null },
): Promise<string> {
  if (settles !== null) {
    const { chat_id } = readPlace(place);
    const message_id = Number(settles);
    try {
      await api.call("editMessageText", { chat_id, message_id, ...textOf(part, false) }, signal);
    } catch (error) {
      if (!isUnchanged(error)) throw error;
    }
    return settles;
  }
  const keyboard = choices.map(({ label, data }) => [{ text: label, callback_data: data }]);
  const markup = reply ? { force_reply: true as const } : { inline_keyboard: keyboard };
  const message = { ...textOf(part, repeated), reply_markup: markup };
  const sent = await inThread(place, (to) => api.call("sendMessage", { ...to, ...message }, signal));
  return String(sent.message_id);
}

/** A message that was deleted or has this text already needs no edit. */
function isUnchanged(error: unknown): boolean {
  return (
    error instanceof ChannelFault &&
    error.kind === "rejected" &&
    /message is not modified|message to edit not found|message can't be edited/.test(error.message)
  );
}

/** If a person deleted the topic, the message goes to the chat itself. */
async function inThread<T>(place: ChatPlace, call: (to: ReturnType<typeof readPlace>) => Promise<T>): Promise<T> {
  const { chat_id, message_thread_id } = readPlace(place);
  try {
    return await call(readPlace(place));
  } catch (error) {
    const isGone = error instanceof ChannelFault && /message thread not found|TOPIC_DELETED/.test(error.message);
    if (message_thread_id === undefined || !isGone) throw error;
    return call({ chat_id });
  }
}

function textOf({ text, marks }: ChannelText, repeated: boolean) {
  const entities = marks as readonly Entity[];
  const shift = repeated ? repeatedNote.length : 0;
  const moved = entities.map((entity) => ({ ...entity, offset: entity.offset + shift }));
  return {
    text: repeated ? repeatedNote + text : text,
    entities: moved,
    link_preview_options: { is_disabled: true },
  };
}
