/**
 * `message_received`: hooks see an admitted message before an agent gets it. The inbox stores the text as it was sent.
 * The hooks' result is stored beside it in a separate transaction, at the start of the turn that takes the message or
 * when the message joins a turn.
 */
import type { MessageReceivedContext } from "@aegis/contract/hook.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { SerialByKey } from "@aegis/lib/serial.ts";
import { checkBody } from "@aegis/sessions/inbox/inbox.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { HookBus } from "./bus.ts";
import { hookSession } from "./subject.ts";

export type MessageReceivedOptions = {
  bus: HookBus;
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
};

export class MessageReceivedHooks {
  readonly #options: MessageReceivedOptions;
  /** One call at a time per session, so that hooks see each message once. */
  readonly #serial = new SerialByKey();

  constructor(options: MessageReceivedOptions) {
    this.#options = options;
  }

  /** Calls the hooks for the session's pending messages that they have not seen, and stores the results. */
  show(session: SessionId): Promise<void> {
    return this.#serial.run(session, () => this.#showAll(session));
  }

  /** Returns the message as the hooks left it. */
  async shown(message: Message): Promise<Message> {
    await this.show(message.session);
    return (await this.#options.store.read.messages.get(message.id)) ?? message;
  }

  async #showAll(id: SessionId): Promise<void> {
    const { store, transact, clock } = this.#options;
    const unseen = await store.read.messages.unseen(id);
    const session = unseen.length === 0 ? null : await store.read.sessions.get(id);
    if (session === null) return;
    for (const { id: message, body: content, sender } of unseen) {
      const body = await this.#call({ session: hookSession(session), content, sender });
      await transact(async (tx) => {
        await tx.messages.receive(message, body);
        if (body !== content)
          await tx.events.append({ type: "message.received", session: id, data: { message, body } }, clock.now());
      });
    }
  }

  async #call(context: MessageReceivedContext): Promise<string> {
    const { bus, log, signal } = this.#options;
    const { content } = await bus.run("message_received", context, signal);
    if (content === null) return context.content;
    try {
      checkBody(content);
      return content;
    } catch (error) {
      log.warn("the result of message_received hooks is not a valid message; the original text is used", {
        session: context.session.id,
        error: errorText(error),
      });
      return context.content;
    }
  }
}
