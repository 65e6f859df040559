/**
 * Reads updates of Telegram. Everything that is not a plain message or a person's button press is left out: edits,
 * channel posts, messages from bots, messages sent on behalf of a chat. Forwarded and quoted text is other people's: it
 * is never a command, an answer or a code.
 */
import type { Message, Update, User } from "grammy/types";
import type { FileRef, Inbound, InboundContent, QuotedText } from "../channel.ts";

export type Bot = Pick<User, "id"> & { username: string };

/** The kinds of update that Aegis asks for. */
export const wantedUpdates = ["message", "callback_query"] as const;

/** Images that agents can see are at most this large. */
const largestImage = 5 * 1024 * 1024;

/** What is for Aegis, in order. The messages of an album are one message with all of its files. */
export function inboundsOf(updates: readonly Update[], bot: Bot): Inbound[] {
  const taken = new Set<Update>();
  return updates.flatMap((update) => {
    if (taken.has(update)) return [];
    const album = albumOf(update);
    const parts = album === null ? [update] : updates.filter((one) => albumOf(one) === album);
    for (const part of parts) taken.add(part);
    const inbound = inboundOf(
      update,
      parts.flatMap(({ message }) => message ?? []),
      bot,
    );
    return inbound === null ? [] : [inbound];
  });
}

/** Identifies the album of a message: its parts have the sender and the chat in common. */
export function albumOf({ message }: Update): string | null {
  const group = message?.media_group_id;
  return group === undefined ? null : `${message?.chat.id}:${message?.from?.id}:${group}`;
}

/** Null if the update is not for Aegis. `parts` are all messages of its album. */
function inboundOf(update: Update, parts: readonly Message[], bot: Bot): Inbound | null {
  const key = `${bot.id}:${update.update_id}`;
  const { callback_query: query } = update;
  const message = update.message === undefined ? undefined : joined(update.message, parts);
  if (query !== undefined) {
    const { from, message: shown, data } = query;
    if (from.is_bot || data === undefined || shown === undefined) return null;
    const thread = "message_thread_id" in shown ? shown.message_thread_id : undefined;
    const place = placeOf(shown.chat.id, thread);
    const content = { kind: "press", press: query.id, data } as const;
    return { key, peer: peerOf(from), place, shared: shown.chat.type !== "private", replyTo: null, content };
  }
  if (message === undefined) return null;
  const { from, chat, sender_chat, via_bot } = message;
  if (from === undefined || from.is_bot || sender_chat !== undefined || via_bot !== undefined) return null;
  const shared = chat.type !== "private";
  const content = contentOf(message, parts, bot);
  if (content === null || (shared && !isAddressed(message, content, bot))) return null;
  const place = placeOf(chat.id, message.is_topic_message === true ? message.message_thread_id : undefined);
  // In a topic, a message without a reply refers to the message that opened the topic.
  const reply = message.reply_to_message;
  const isReply = reply !== undefined && reply.message_id !== message.message_thread_id;
  const replyTo = isReply ? String(reply.message_id) : null;
  return { key, peer: peerOf(from), place, shared, replyTo, content };
}

export function placeOf(chat: number, thread: number | undefined): string {
  return thread === undefined ? String(chat) : `${chat}/${thread}`;
}

export function readPlace(place: string): { chat_id: number; message_thread_id?: number } {
  const [chat = "", thread] = place.split("/");
  return { chat_id: Number(chat), ...(thread === undefined ? {} : { message_thread_id: Number(thread) }) };
}

function peerOf({ id, first_name, last_name, username }: User): Inbound["peer"] {
  const name = [first_name, last_name].filter((part) => part !== undefined).join(" ");
  return { id: String(id), name: username === undefined ? name : `${name} (@${username})` };
}

/** The first message of an album, with the captions of all of them: people write to the bot in any of them. */
function joined(first: Message, parts: readonly Message[]): Message {
  if (parts.length < 2) return first;
  const captions = parts.flatMap(({ caption = "" }) => (caption === "" ? [] : [caption]));
  return { ...first, caption: captions.join("\n\n") };
}

function contentOf(message: Message, parts: readonly Message[], bot: Bot): InboundContent | null {
  const text = message.text ?? message.caption ?? "";
  const files = parts.flatMap(filesOf);
  if (text === "" && files.length === 0) return null;
  if (message.forward_origin !== undefined) {
    const quoted: QuotedText[] = text === "" ? [] : [{ label: "Forwarded message:", text }];
    return { kind: "text", text: "", quoted, files };
  }
  const [, name, addressee, rest = ""] = /^\/([a-zA-Z0-9_]{1,32})(?:@(\w+))?(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  const isForUs = addressee === undefined || addressee.toLowerCase() === bot.username.toLowerCase();
  if (name !== undefined && files.length === 0) {
    if (!isForUs) return null;
    const command = name.toLowerCase();
    if (command === "start" && rest.trim() !== "") return { kind: "pair", code: rest.trim() };
    return { kind: "command", name: command, rest };
  }
  const own = text.replace(new RegExp(`@${bot.username}\\b`, "gi"), "").trim();
  return { kind: "text", text: own, quoted: quotedOf(message, bot), files };
}

/** The message that a person replies to, unless it is one of ours. */
function quotedOf({ reply_to_message: reply, quote }: Message, bot: Bot): QuotedText[] {
  if (reply === undefined || reply.from?.id === bot.id) return [];
  const text = quote?.text ?? reply.text ?? reply.caption ?? "";
  return text === "" ? [] : [{ label: "In reply to:", text }];
}

/** In a group, a message is for the bot if it is a command, mentions it or replies to it. */
function isAddressed(message: Message, content: InboundContent, bot: Bot): boolean {
  if (content.kind !== "text") return true;
  if (message.reply_to_message?.from?.id === bot.id) return true;
  const text = message.text ?? message.caption ?? "";
  return new RegExp(`@${bot.username}\\b`, "i").test(text);
}

function filesOf(message: Message): FileRef[] {
  const { photo, voice, audio, document, video } = message;
  const files: FileRef[] = [];
  const largest = photo?.filter(({ file_size = 0 }) => file_size <= largestImage).at(-1);
  if (largest !== undefined)
    files.push({ id: largest.file_id, name: "photo.jpg", bytes: largest.file_size ?? null, image: true });
  const image = document?.mime_type?.startsWith("image/") ?? false;
  const others = [
    { file: voice, name: "voice.ogg" },
    { file: audio, name: audio?.file_name ?? "audio.mp3" },
    { file: video, name: video?.file_name ?? "video.mp4" },
    { file: document, name: document?.file_name ?? "file" },
  ];
  for (const { file, name } of others)
    if (file !== undefined)
      files.push({ id: file.file_id, name, bytes: file.file_size ?? null, image: file === document && image });
  return files;
}
