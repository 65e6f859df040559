/**
 * A strict fake of the Telegram Bot API on loopback. It checks requests against the documented limits and answers with the
 * error texts of the real servers. `violations` counts what a careful bot never sends.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Params = Record<string, unknown>;
type Chat = { id: number; type: "private" | "supergroup"; first_name: string; topics: Map<number, string> | null };
type Button = { text?: string; callback_data?: string };
type Markup = { inline_keyboard?: Button[][]; force_reply?: boolean } | undefined;
export type SentMessage = {
  message_id: number;
  chat: number;
  thread: number | undefined;
  text: string;
  markup: Markup;
  edits: number;
  document: boolean;
};
type Update = Params & { update_id: number };
/** `hang` never answers, `cut` breaks the connection before the request has an effect, `lost` after it. */
type Planned = {
  method: string;
  how: "hang" | "cut" | "lost" | { code: number; description: string; retry_after?: number };
};

const parameters: Record<string, readonly string[]> = {
  getMe: [],
  deleteWebhook: ["drop_pending_updates"],
  setMyCommands: ["commands"],
  getUpdates: ["offset", "limit", "timeout", "allowed_updates"],
  sendMessage: [
    "chat_id",
    "message_thread_id",
    "text",
    "entities",
    "link_preview_options",
    "reply_markup",
    "disable_notification",
  ],
  deleteMessage: ["chat_id", "message_id"],
  editMessageText: ["chat_id", "message_id", "text", "entities", "link_preview_options", "reply_markup"],
  sendDocument: ["chat_id", "message_thread_id", "document"],
  answerCallbackQuery: ["callback_query_id", "text"],
  sendChatAction: ["chat_id", "message_thread_id", "action"],
  getFile: ["file_id"],
  createForumTopic: ["chat_id", "name"],
};

class Refusal extends Error {
  readonly code: number;
  readonly retryAfter: number | undefined;
  constructor(code: number, description: string, retryAfter?: number) {
    super(description);
    this.code = code;
    this.retryAfter = retryAfter;
  }
}
const bad = (text: string) => new Refusal(400, `Bad Request: ${text}`);

export class FakeBotApi {
  readonly token = "424242:TEST-token-of-no-bot-at-all-000000000";
  url = "";
  /** Whether the token is valid. */
  accepts = true;
  topics = false;
  readonly sent: SentMessage[] = [];
  readonly deleted: SentMessage[] = [];
  readonly calls: { method: string; params: Params }[] = [];
  readonly violations: string[] = [];
  readonly acknowledged: string[] = [];
  readonly planned: Planned[] = [];
  readonly blocked = new Set<number>();
  readonly #chats = new Map<number, Chat>();
  readonly #files = new Map<string, Buffer>();
  readonly #queries = new Set<string>();
  readonly #times = new Map<number, number[]>();
  #updates: Update[] = [];
  #confirmed: Update[] = [];
  #again: Update[] = [];
  #nextUpdate = 1000;
  #nextMessage = 1;
  #onRead: (() => void) | null = null;
  #close: () => void = () => {};
  #poll: { conflict(): void; wake(): void } | null = null;

  /** Ends with the test, or as `atEnd` says. */
  static async start(atEnd: (end: () => void) => void = onTestFinished): Promise<FakeBotApi> {
    const fake = new FakeBotApi();
    const server = createServer((request, response) => void fake.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    fake.#close = () => {
      server.closeAllConnections();
      server.close();
    };
    atEnd(() => fake.stop());
    fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return fake;
  }

  /** From now on nothing listens at the address. */
  stop(): void {
    this.#close();
  }

  /** Calls the listener when the bot next receives updates, before it has them. */
  onceRead(listener: () => void): void {
    this.#onRead = listener;
  }

  chat(id: number, type: Chat["type"] = "private"): number {
    this.#chats.set(id, { id, type, first_name: `p${id}`, topics: null });
    return id;
  }

  /** A person writes. Returns the id of the message. */
  say(chat: number, text: string, more: Params & { from?: number } = {}): number {
    const { from = chat, ...rest } = more;
    const message_id = this.#nextMessage++;
    const sender = { id: from, is_bot: false, first_name: "Ada" };
    this.push({ message: { message_id, date: 1, chat: this.#view(chat), from: sender, text, ...rest } });
    return message_id;
  }

  /** A person sends pictures together. If `apart`, each arrives after the bot has read the one before it. */
  album(chat: number, files: readonly string[], caption: string, { apart = false } = {}): void {
    const group = `album-${this.#nextMessage}`;
    const part = (index: number): void => {
      const file_id = files[index];
      if (file_id === undefined) return;
      if (apart) this.#onRead = () => part(index + 1);
      const photo = [{ file_id, file_size: this.#files.get(file_id)?.length ?? 0, width: 1, height: 1 }];
      const about = index === 0 && caption !== "" ? { caption } : {};
      this.say(chat, "", { text: undefined, media_group_id: group, photo, ...about });
      if (!apart) part(index + 1);
    };
    part(0);
  }

  /** A person presses the button with this label below a sent message. */
  press(message: SentMessage, label: string, from = message.chat): void {
    const button = message.markup?.inline_keyboard?.flat().find(({ text }) => text === label);
    if (button === undefined) throw new Error(`no button ${label} below ${JSON.stringify(message)}`);
    const id = String(this.#nextMessage++);
    this.#queries.add(id);
    const { message_id, text, thread } = message;
    const shown = { message_id, text, chat: this.#view(message.chat), message_thread_id: thread };
    const sender = { id: from, is_bot: false, first_name: "Ada" };
    this.push({ callback_query: { id, from: sender, chat_instance: "1", message: shown, data: button.callback_data } });
  }

  push(update: Params): void {
    this.#updates.push({ ...update, update_id: this.#nextUpdate++ });
    this.#poll?.wake();
  }

  /** The next read that has an update also has all updates that the bot has confirmed before. */
  deliverAgain(): void {
    this.#again = [...this.#confirmed];
  }

  file(id: string, data: Buffer): void {
    this.#files.set(id, data);
  }

  /** Updates that the bot has not confirmed. */
  get unconfirmed(): number {
    return this.#updates.length;
  }

  /** The texts that a chat shows, in order. */
  texts(chat: number): string[] {
    return this.sent.filter((message) => message.chat === chat).map(({ text }) => text);
  }

  #view(id: number): Params {
    const { topics: _, ...chat } = this.#chatOf(id);
    return chat;
  }

  #chatOf(id: unknown): Chat {
    const chat = this.#chats.get(Number(id));
    if (chat === undefined) throw bad("chat not found");
    if (this.blocked.has(chat.id)) throw new Refusal(403, "Forbidden: bot was blocked by the user");
    return chat;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const [, fileToken, fileId = ""] = /^\/file\/bot([^/]+)\/documents\/(.+)$/.exec(request.url ?? "") ?? [];
    if (fileToken !== undefined) return void response.end(this.#files.get(fileId) ?? "");
    const [, token, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? "") ?? [];
    if (token !== this.token || !this.accepts)
      return answer(401, { ok: false, error_code: 401, description: "Unauthorized" });
    const known = parameters[method];
    if (known === undefined) {
      this.violations.push(`unknown method ${method}`);
      return answer(404, { ok: false, error_code: 404, description: "Not Found" });
    }
    const size = chunks.reduce((sum, { length }) => sum + length, 0);
    if (size > 50 * 1024 * 1024) this.violations.push(`${method}: an upload of more than 50 MB`);
    const params = paramsOf(request, Buffer.concat(chunks));
    for (const name of Object.keys(params))
      if (!known.includes(name)) this.violations.push(`${method}: unknown parameter ${name}`);
    this.calls.push({ method, params });
    const plan = this.planned.findIndex((one) => one.method === method);
    const how = plan < 0 ? null : (this.planned.splice(plan, 1)[0]?.how ?? null);
    if (how === "hang") return;
    if (how === "cut") return void request.socket.destroy();
    try {
      if (how !== null && how !== "lost") throw new Refusal(how.code, how.description, how.retry_after);
      const closed = new Promise<void>((resolve) => response.on("close", resolve));
      const result = await this.#call(method, params, closed);
      if (how === "lost") return void request.socket.destroy();
      answer(200, { ok: true, result });
    } catch (error) {
      if (!(error instanceof Refusal)) {
        this.violations.push(`${method}: ${String(error)}`);
        return answer(500, { ok: false, error_code: 500, description: "Internal Server Error" });
      }
      const { code, message, retryAfter } = error;
      const more = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } };
      answer(code, { ok: false, error_code: code, description: message, ...more });
    }
  }

  async #call(method: string, params: Params, closed: Promise<void>): Promise<unknown> {
    switch (method) {
      case "getMe":
        return {
          id: 424242,
          is_bot: true,
          first_name: "Aegis",
          username: "aegis_test_bot",
          can_read_all_group_messages: false,
          has_topics_enabled: this.topics,
        };
      case "getUpdates":
        return this.#getUpdates(params, closed);
      case "setMyCommands":
        return this.#setMyCommands(params);
      case "sendMessage":
        return this.#send(params, this.#checkedText(params), false);
      case "sendDocument":
        return this.#send(params, "", true);
      case "deleteMessage":
        return this.#delete(params);
      case "editMessageText":
        return this.#edit(params);
      case "answerCallbackQuery": {
        const text = String(params.text ?? "");
        if (!this.#queries.delete(String(params.callback_query_id)))
          throw bad("query is too old and response timeout expired or query ID is invalid");
        if (text.length > 200) throw bad("MESSAGE_TOO_LONG");
        this.acknowledged.push(text);
        return true;
      }
      case "sendChatAction":
        this.#chatOf(params.chat_id);
        return true;
      case "getFile": {
        const id = String(params.file_id);
        const file = this.#files.get(id);
        if (file === undefined) throw bad("wrong file_id or the file is temporarily unavailable");
        if (file.length > 20 * 1024 * 1024) throw bad("file is too big");
        return { file_id: id, file_unique_id: id, file_size: file.length, file_path: `documents/${id}` };
      }
      case "createForumTopic": {
        const chat = this.#chatOf(params.chat_id);
        const name = String(params.name ?? "");
        if (!this.topics) throw bad("the chat is not a forum");
        if (name.length < 1 || name.length > 128) throw bad("TOPIC_NAME_INVALID");
        chat.topics ??= new Map();
        const id = this.#nextMessage++;
        chat.topics.set(id, name);
        return { message_thread_id: id, name, icon_color: 7322096 };
      }
      default:
        return true;
    }
  }

  async #getUpdates({ offset = 0, limit = 100, timeout = 0 }: Params, closed: Promise<void>): Promise<Update[]> {
    // The newer request ends the older one.
    this.#poll?.conflict();
    if (Number(limit) < 1 || Number(limit) > 100) this.violations.push(`limit ${limit}`);
    // Everything before the offset is confirmed and never comes again.
    const isConfirmed = ({ update_id }: Update) => update_id < Number(offset);
    this.#confirmed.push(...this.#updates.filter(isConfirmed));
    this.#updates = this.#updates.filter((update) => !isConfirmed(update));
    if (this.#updates.length === 0 && Number(timeout) > 0) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const text = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
      const mine = { wake: resolve, conflict: () => reject(new Refusal(409, text)) };
      this.#poll = mine;
      const timer = setTimeout(resolve, Number(timeout) * 1000);
      void closed.then(resolve);
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        if (this.#poll === mine) this.#poll = null;
      }
    }
    const again = this.#updates.length > 0 ? this.#again.splice(0) : [];
    const read = [...again, ...this.#updates].slice(0, Number(limit));
    const onRead = read.length > 0 ? this.#onRead : null;
    if (onRead !== null) this.#onRead = null;
    onRead?.();
    return read;
  }

  #setMyCommands({ commands }: Params): boolean {
    for (const { command, description } of commands as { command: string; description: string }[])
      if (!/^[a-z0-9_]{1,32}$/.test(command) || description.length < 1 || description.length > 256)
        throw bad("BOT_COMMAND_INVALID");
    return true;
  }

  #checkedText({ text, entities }: Params): string {
    if (typeof text !== "string" || text.trim() === "") throw bad("message text is empty");
    if (!text.isWellFormed()) throw bad("strings must be encoded in UTF-8");
    if ([...text].length > 4096) throw bad("message is too long");
    for (const { offset, length } of (entities ?? []) as { offset: number; length: number }[])
      if (offset < 0 || length < 1 || offset + length > text.length) throw bad("entity beyond the end of the text");
    return text;
  }

  #checkMarkup(markup: Markup): void {
    const buttons = markup?.inline_keyboard?.flat().length ?? 0;
    if (buttons > 100) throw bad("reply markup is too long");
    for (const { text, callback_data } of markup?.inline_keyboard?.flat() ?? []) {
      if (!text) throw bad("inline keyboard button text is empty");
      const size = Buffer.byteLength(callback_data ?? "");
      if (size < 1 || size > 64) throw bad("BUTTON_DATA_INVALID");
    }
  }

  #send(params: Params, text: string, document: boolean): Params {
    const chat = this.#chatOf(params.chat_id);
    const thread = params.message_thread_id === undefined ? undefined : Number(params.message_thread_id);
    if (thread !== undefined && !chat.topics?.has(thread)) throw bad("message thread not found");
    const markup = params.reply_markup as Markup;
    this.#checkMarkup(markup);
    this.#spend(chat);
    const message: SentMessage = {
      message_id: this.#nextMessage++,
      chat: chat.id,
      thread,
      text,
      markup,
      edits: 0,
      document,
    };
    this.sent.push(message);
    return { message_id: message.message_id, date: 1, chat: this.#view(chat.id), text };
  }

  #delete(params: Params): boolean {
    const chat = this.#chatOf(params.chat_id);
    const at = this.sent.findIndex((one) => one.chat === chat.id && one.message_id === params.message_id);
    if (at < 0) throw bad("message to delete not found");
    this.deleted.push(...this.sent.splice(at, 1));
    return true;
  }

  #edit(params: Params): Params {
    const chat = this.#chatOf(params.chat_id);
    const message = this.sent.find((one) => one.chat === chat.id && one.message_id === params.message_id);
    if (message === undefined) throw bad("message to edit not found");
    const text = this.#checkedText(params);
    const markup = params.reply_markup as Markup;
    if (text === message.text && JSON.stringify(markup) === JSON.stringify(message.markup))
      throw bad("message is not modified: specified new message content and reply markup are exactly the same");
    this.#spend(chat);
    Object.assign(message, { text, markup, edits: message.edits + 1 });
    return { message_id: message.message_id, date: 1, chat: this.#view(chat.id), text };
  }

  /** About one message a second in a chat with short bursts, 20 a minute in a group. */
  #spend(chat: Chat): void {
    const now = Date.now();
    const second = [...this.#times.values()].flat().filter((at) => now - at < 1_000);
    if (second.length >= 30) this.violations.push("more than 30 messages in a second");
    const times = (this.#times.get(chat.id) ?? []).filter((at) => now - at < 60_000);
    const recent = times.filter((at) => now - at < 2_900);
    const isGroup = chat.type !== "private";
    if (recent.length >= 3 || (isGroup && times.length >= 20)) {
      this.violations.push(`too fast in ${chat.id}`);
      throw new Refusal(429, "Too Many Requests: retry after 1", 1);
    }
    this.#times.set(chat.id, [...times, now]);
  }
}

/** JSON, or the fields of a form with a file. */
function paramsOf({ headers }: IncomingMessage, body: Buffer): Params {
  const text = body.toString();
  if (!headers["content-type"]?.startsWith("multipart/form-data"))
    return text === "" ? {} : (JSON.parse(text) as Params);
  const fields = [...text.matchAll(/name="?([\w-]+)"?(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n([^\r\n]*)/g)];
  const params: Params = {};
  for (const [, name = "", value = ""] of fields)
    if (name in { chat_id: 1, message_thread_id: 1, document: 1 }) params[name] = value;
  return params;
}
