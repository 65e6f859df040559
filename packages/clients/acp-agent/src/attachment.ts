/** One session that the editor shows: follows its events and sends the editor's prompts to it. */

import type { Client } from "@aegis/client/client.ts";
import type { FollowedItem } from "@aegis/client/events.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId, type TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import { type PromptResponse, RequestError, type SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { Editor } from "./editor.ts";
import type { PromptMessage } from "./prompt-blocks.ts";
import { promptResponse } from "./prompt-end.ts";
import { type NoticeLevel, textBlock, UpdateMapper } from "./updates.ts";

export type AttachmentOptions = {
  session: SessionView;
  editor: Editor;
  client: Client;
  root: string;
  /** Starts the daemon if it does not run, and repeats the call once if it did not. */
  reliably: <T>(call: () => Promise<T>) => Promise<T>;
  /** True if the editor created the session through this connection. */
  created: boolean;
  /** True if the whole history is sent, which includes the cost of earlier turns. */
  replay: boolean;
  /** What the editor showed of this session before; its prompts continue. */
  before: Attachment | undefined;
};

type Prompt = { turn: TurnId | null; settled: PromiseWithResolvers<Settled> };
type Settled = { message: Message; turn: Turn | null };

export class Attachment {
  readonly id: SessionId;
  readonly created: boolean;
  readonly #options: AttachmentOptions;
  readonly #mapper: UpdateMapper;
  readonly #own: Set<string>;
  readonly #prompts: Map<MessageId, Prompt>;
  /** Events that arrive before the history has been replayed; null afterwards. */
  #early: Event[] | null = [];
  /** Events up to this one have been replayed. */
  #after = 0;

  constructor(options: AttachmentOptions) {
    this.#options = options;
    this.id = options.session.id;
    this.created = options.created || options.before?.created === true;
    this.#own = options.before === undefined ? new Set() : options.before.#own;
    this.#prompts = options.before === undefined ? new Map() : options.before.#prompts;
    const { root, editor, session } = options;
    const cost = options.replay ? null : (session.usage?.cost ?? null);
    this.#mapper = new UpdateMapper({ root, notices: editor.showsNotices, cost });
  }

  get isBusy(): boolean {
    return this.#prompts.size > 0;
  }

  /** Sends the updates of the history, then passes on the events after it, or after the given one. */
  async begin(history: readonly Event[], after = 0): Promise<void> {
    for (const update of this.#mapper.replay(history)) await this.update(update);
    this.#after = history.at(-1)?.seq ?? after;
    // More events may arrive while the first ones are sent.
    for (let event = this.#early?.shift(); event !== undefined; event = this.#early?.shift()) await this.#show(event);
    this.#early = null;
  }

  async take(item: FollowedItem): Promise<void> {
    if (item.kind === "delta") {
      if (this.#early !== null) return;
      const update = this.#mapper.delta(item.delta);
      if (update !== null) await this.update(update);
    } else if (this.#early !== null) this.#early.push(item.event);
    else await this.#show(item.event);
  }

  update(update: SessionUpdate): Promise<void> {
    return this.#options.editor.update(this.id, update);
  }

  async notice(level: NoticeLevel, text: string): Promise<void> {
    const id = `notice-${newId("msg", Date.now())}`;
    for (const update of this.#mapper.notice(id, level, text)) await this.update(update);
  }

  /** Sends the prompt and waits for the end of the turn that answers it. */
  async prompt({ text, attachments }: PromptMessage, cancelled: AbortSignal): Promise<PromptResponse> {
    const id = newId("msg", Date.now());
    const prompt: Prompt = { turn: null, settled: Promise.withResolvers() };
    this.#own.add(id);
    this.#prompts.set(id, prompt);
    const cancel = () => void this.cancel().catch(() => {});
    cancelled.addEventListener("abort", cancel, { once: true });
    try {
      // The id makes it safe to send the message again after a daemon that died in between.
      const { receipt } = await this.#options.reliably(() =>
        this.#options.client.call("sendMessage", { path: { session: this.id }, body: { id, text, attachments } }),
      );
      if (receipt.session !== this.id) return await this.#elsewhere(id, receipt.session, receipt.handle, cancelled);
      // Resolved by the event that ends the turn, so that all updates of the turn come before the response.
      return promptResponse(await prompt.settled.promise);
    } finally {
      cancelled.removeEventListener("abort", cancel);
      this.#prompts.delete(id);
    }
  }

  /** Withdraws prompts that still wait. Interrupts the turn only if it has a prompt of this editor, or none waits. */
  async cancel(): Promise<void> {
    const { client } = this.#options;
    const prompts = [...this.#prompts];
    for (const [message, { turn }] of prompts) {
      if (turn === null) await client.call("cancelMessage", { path: { message } }).catch(ignoreConflict);
    }
    const isInTurn = prompts.some(([, { turn }]) => turn !== null);
    if (prompts.length === 0 || isInTurn) await client.call("interruptSession", { path: { session: this.id } });
  }

  /** Checks all open prompts: a request about one may have failed because the daemon died. */
  async recheck(): Promise<void> {
    for (const message of [...this.#prompts.keys()]) await this.#settle(message).catch(() => {});
  }

  async #show(event: Event): Promise<void> {
    if (event.seq <= this.#after) return;
    for (const update of this.#mapper.event(event, (message) => this.#own.has(message))) await this.update(update);
    this.#track(event);
    if (event.type === "turn.ended" && event.data.reason === "lost" && this.isBusy) {
      await this.notice("warning", "The Aegis daemon stopped during this turn. The session continues.");
    }
  }

  /** Notes which turn answers each prompt. The message itself decides when it is answered: a lost turn is repeated. */
  #track(event: Event): void {
    switch (event.type) {
      case "turn.started":
        for (const message of event.data.messages) this.#joined(message, event.data.turn);
        break;
      case "message.steered":
        this.#joined(event.data.message, event.data.turn);
        break;
      case "turn.ended":
        for (const [message, prompt] of this.#prompts) {
          if (prompt.turn !== event.data.turn) continue;
          prompt.turn = null;
          void this.#settle(message).catch(() => {});
        }
        break;
      case "message.cancelled":
      case "message.lost":
        void this.#settle(event.data.message).catch(() => {});
        break;
      case "session.closed":
        void this.recheck();
        break;
      default:
    }
  }

  #joined(message: MessageId, turn: TurnId): void {
    const prompt = this.#prompts.get(message);
    if (prompt !== undefined) prompt.turn = turn;
  }

  async #settle(id: MessageId): Promise<void> {
    const prompt = this.#prompts.get(id);
    if (prompt === undefined) return;
    const { client } = this.#options;
    const { message } = await client.call("getMessage", { path: { message: id } });
    if (message.status === "pending" || message.status === "dispatched") return;
    const { turn } = message;
    const ended = turn === null ? null : (await client.call("getTurn", { path: { turn } })).turn;
    prompt.settled.resolve({ message, turn: ended });
  }

  /** A skill routed the message to the session of another agent. */
  async #elsewhere(id: MessageId, session: SessionId, handle: string, signal: AbortSignal): Promise<PromptResponse> {
    const outcome = await waitForMessage(this.#options.client, id, session, { signal });
    const turn = outcome.status === "answered" ? outcome.turn : null;
    const text = `> from agent:${handle}\n\n${turn?.text ?? ""}`;
    await this.update({ sessionUpdate: "agent_message_chunk", messageId: id, content: textBlock(text) });
    return promptResponse({ message: outcome.message, turn });
  }
}

/** The message joined a turn in the meantime; the turn is interrupted instead. */
function ignoreConflict(error: unknown): void {
  if (!isAegisError(error) || error.code === "unavailable") throw error;
}

/** An error of the daemon as the editor shows it. */
export function asRequestError(error: unknown): unknown {
  if (!(error instanceof AegisError)) return error;
  const hint = typeof error.hint === "string" ? ` (${error.hint})` : "";
  const code = error.code === "not_found" ? -32002 : error.status < 500 ? -32602 : -32603;
  return new RequestError(code, `${error.message}${hint}`, { code: error.code });
}
