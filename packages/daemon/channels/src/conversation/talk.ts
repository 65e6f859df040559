/**
 * Handles what an allowed person sent: a message for a session, a command, or an answer to an ask. All ids come from the
 * key of what was received, and each effect and its reply are written in one transaction, so that handling it again after
 * a crash adds nothing.
 */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { SessionRow, Store, StoreTx } from "@aegis/store/store.ts";
import type { Channel, ChatPlace, Inbound, InboundContent } from "../channel.ts";
import { mostAttempts, type ReceivedItem } from "../received.ts";
import { answerByChoice, answerByText } from "./answers.ts";
import { askOpened, type DeliveryOptions, textDeliveries } from "./deliveries.ts";
import { type FilesOptions, takeFiles } from "./files.ts";

export type TalkOptions = FilesOptions & {
  name: string;
  channel: Channel;
  /** The agent of new sessions; undefined for the default agent. */
  agent: () => string | undefined;
  /** Whether each session gets a thread of its own. */
  threads: () => boolean;
  store: Store;
  now: () => number;
  sessions: Sessions;
  inbox: Inbox;
  asks: Asks;
  agents: AgentTable;
  deliveries: DeliveryOptions;
  /** Called after deliveries were added. */
  added: () => void;
};

type Item = ReceivedItem<Inbound>;
type TextContent = Extract<InboundContent, { kind: "text" }>;

const helpText = [
  "Messages go to the current session; without one, a message starts a new session. Reply to a message to write to its session.",
  "/sessions lists the sessions",
  "/new [agent] [text] starts a session",
  "/switch <handle> changes the current session",
  "/stop interrupts the current turn",
  "/asks shows the open asks",
].join("\n");

const longestThreadTitle = 60;

export class Talk {
  readonly #options: TalkOptions;

  constructor(options: TalkOptions) {
    this.#options = options;
  }

  async handle(item: Item, signal: AbortSignal): Promise<void> {
    const { content } = item.payload;
    if (content.kind === "text") await this.#text(item, content, signal);
    else if (content.kind === "press") await this.#press(content, signal);
    else if (content.kind === "command") await this.#command(item, content, signal);
    else await this.#reply(item, helpText);
  }

  /** Tells the person why it was not done. */
  async refused(item: Item, error: string): Promise<void> {
    await this.#reply(item, `That did not work: ${error}`);
  }

  async #text(item: Item, content: TextContent, signal: AbortSignal): Promise<void> {
    const { asks, name, store } = this.#options;
    const { place, replyTo } = item.payload;
    const repliedTo = replyTo === null ? null : await store.read.channels.outByExternal(name, place, replyTo);
    if (repliedTo?.ask && content.files.length === 0) {
      const outcome = await answerByText(asks, repliedTo.ask, content.text, name);
      return this.#reply(item, outcome);
    }
    const open = await this.#openSession(repliedTo?.session ?? null);
    const session = open ?? (await this.#openSession(await store.read.channels.sessionAt(name, place)));
    await this.#say(item, { content, session, agent: this.#options.agent() }, signal);
  }

  /** Admits the text to the session, or to a new one, and makes that the current session of its place. */
  async #say(
    item: Item,
    { content, session, agent }: { content: TextContent; session: SessionRow | null; agent: string | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { name, channel, store, sessions, inbox, agents } = this.#options;
    const sender: Sender = { kind: "channel", name };
    const source = this.#source(item);
    const target = session ?? { handle: "the new session", harness: agents.startable(agent).harness };
    const last = item.attempt >= mostAttempts;
    const { images, notes } = await takeFiles(channel, content.files, target, { ...this.#options, last, signal });
    const quoted = content.quoted.map(({ label, text }) => `${label}\n${text.replace(/^/gm, "> ")}`);
    const body = [...quoted, content.text, ...notes].filter((part) => part !== "").join("\n\n");
    const place = session === null ? await this.#placeForNew(item, content.text, signal) : item.payload.place;
    const id = session?.id ?? derivedId("ses", source);
    await store.transact(async (tx) => {
      if (session === null) await sessions.createIn(tx, { id, agent });
      if (body !== "")
        await inbox.admitIn(tx, { id: derivedId("msg", source), session: id, sender, body, attachments: images });
      await this.#bind(tx, id, place);
      const row = await tx.sessions.get(id);
      if (session === null) await this.#add(tx, item, place, `Started **${row?.handle}** (${row?.agent}).`);
      await item.done(tx);
    });
    this.#options.added();
    sessions.wake(id);
  }

  /**
   * The thread of a new session, if the service has threads. A crash right after the thread was opened leaves an empty
   * thread behind.
   */
  async #placeForNew(item: Item, title: string, signal: AbortSignal): Promise<ChatPlace> {
    const { name, channel, store, threads, now } = this.#options;
    const { place } = item.payload;
    if (!threads() || channel.chatOf(place) !== place) return place;
    const mark = `thread:${name}:${item.key}`;
    const before = await store.read.channels.cursor(mark);
    if (before !== null) return before.position;
    const [line = ""] = title.trim().split("\n");
    const short = line.slice(0, longestThreadTitle).toWellFormed();
    const thread = await channel.openThread(place, short === "" ? "New session" : short, signal);
    if (thread === null) return place;
    await store.transact((tx) => tx.channels.setCursor(mark, thread, now()));
    return thread;
  }

  async #press(content: Extract<InboundContent, { kind: "press" }>, signal: AbortSignal): Promise<void> {
    const { asks, name, channel } = this.#options;
    const outcome = await answerByChoice(asks, content.data, name);
    // The person may be gone, and the service forgets a press quickly. The card shows the outcome as well.
    await channel.acknowledge(content.press, outcome, signal).catch(() => {});
  }

  async #command(
    item: Item,
    content: Extract<InboundContent, { kind: "command" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, rest } = content;
    switch (name) {
      case "start":
      case "help":
        return this.#reply(item, helpText);
      case "sessions":
        return this.#reply(item, await this.#sessionList(item.payload.place));
      case "asks":
        return this.#showAsks(item);
      case "new":
        return this.#newSession(item, rest, signal);
      case "switch":
        return this.#switchTo(item, rest.trim());
      case "stop":
        return this.#stop(item);
      default: {
        // Harnesses have commands of their own.
        const text = `/${name}${rest === "" ? "" : ` ${rest}`}`;
        return this.#text(item, { kind: "text", text, quoted: [], files: [] }, signal);
      }
    }
  }

  async #newSession(item: Item, rest: string, signal: AbortSignal): Promise<void> {
    const { agents } = this.#options;
    const [first = "", ...words] = rest.trim().split(/\s+/);
    const isAgent = first !== "" && agents.listAgents().some(({ slug }) => slug === first);
    const text = isAgent ? words.join(" ") : rest.trim();
    const agent = isAgent ? first : this.#options.agent();
    await this.#say(item, { content: { kind: "text", text, quoted: [], files: [] }, session: null, agent }, signal);
  }

  async #switchTo(item: Item, reference: string): Promise<void> {
    const { store, sessions } = this.#options;
    if (reference === "") return this.#reply(item, "Which session? /sessions lists them.");
    const row = await sessions.resolve(reference).catch((error: unknown) => {
      if (isAegisError(error)) return error.message;
      throw error;
    });
    if (typeof row === "string") return this.#reply(item, row);
    if (row.closed_at !== null) return this.#reply(item, `${headline(row)} is closed.`);
    await store.transact(async (tx) => {
      await this.#bind(tx, row.id, item.payload.place);
      await this.#add(tx, item, item.payload.place, `Messages now go to **${headline(row)}** (${row.agent}).`);
      await item.done(tx);
    });
    this.#options.added();
  }

  async #stop(item: Item): Promise<void> {
    const { store, name, sessions } = this.#options;
    const row = await this.#openSession(await store.read.channels.sessionAt(name, item.payload.place));
    if (row === null) return this.#reply(item, "This chat has no session.");
    const wasWorking = await sessions.interrupt(row.id);
    await this.#reply(item, wasWorking ? `Stopped ${headline(row)}.` : `${headline(row)} is not working.`);
  }

  async #sessionList(place: ChatPlace): Promise<string> {
    const { store, name, sessions } = this.#options;
    const current = await store.read.channels.sessionAt(name, place);
    const open = (await sessions.list({ closed: false, client: name })).filter(({ parent }) => parent === null);
    if (open.length === 0) return "No session is open. A message starts one.";
    return open
      .slice(0, 30)
      .map(({ id, handle, agent, state, title, needs_you }) => {
        const mark = id === current ? "▸ " : "";
        const asks = needs_you === null ? "" : ", asks";
        return `${mark}**${headline({ title, handle })}** (${agent}, ${state}${asks})${title === "" ? "" : ` ${handle}`}`;
      })
      .join("\n");
  }

  async #showAsks(item: Item): Promise<void> {
    const { asks, store, deliveries, name, now, added } = this.#options;
    const open = await asks.list({ status: "open", limit: 20 });
    if (open.length === 0) return this.#reply(item, "No ask is open.");
    await store.transact(async (tx) => {
      for (const ask of open)
        for (const one of await askOpened(tx, ask, deliveries, `:${item.key}`, item.payload.place))
          await tx.channels.addOut({ ...one, channel: name, created_at: now() });
      await item.done(tx);
    });
    added();
  }

  async #openSession(id: SessionId | null): Promise<SessionRow | null> {
    const row = id === null ? null : await this.#options.store.read.sessions.get(id);
    return row === null || row.closed_at !== null ? null : row;
  }

  async #bind(tx: StoreTx, session: SessionId, place: ChatPlace): Promise<void> {
    const { name } = this.#options;
    await tx.channels.setSessionAt(name, place, session);
    await tx.channels.addRoute(name, session, place);
  }

  async #reply(item: Item, text: string): Promise<void> {
    await this.#options.store.transact(async (tx) => {
      await this.#add(tx, item, item.payload.place, text);
      await item.done(tx);
    });
    this.#options.added();
  }

  async #add(tx: StoreTx, item: Item, place: ChatPlace, text: string): Promise<void> {
    const { name, channel, now } = this.#options;
    const session = await tx.channels.sessionAt(name, place);
    for (const one of textDeliveries(channel, { key: `in:${item.key}`, place, session }, text))
      await tx.channels.addOut({ ...one, channel: name, created_at: now() });
  }

  #source({ key }: Item): string {
    return `${this.#options.name}:${key}`;
  }
}
