/**
 * `message_received`: what hooks make of a message before its row is written. Messages are admitted inside transactions,
 * where nobody may wait for a plugin. So a transaction that admits messages no hook has seen is taken back whole; the
 * hooks see them, and it runs again with what they made. Nothing runs twice when no hook listens.
 */
import type { MessageReceivedContext } from "../../contract/hook.ts";
import type { Sender } from "../../contract/message.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { SessionRow, Store, StoreTx } from "../../store/store.ts";
import { checkBody } from "../inbox/inbox.ts";
import type { HookBus } from "./bus.ts";
import { hookSession } from "./subject.ts";

export type ReceptionOptions = {
  bus: HookBus;
  log: Logger;
  /** Aborts when the daemon may no longer wait for anything. */
  signal: AbortSignal;
};

/** Messages by what they are, with what hooks made of them. */
type Seen = Map<string, string>;
type Attempt = { seen: Seen; unseen: Map<string, MessageReceivedContext>; places: number; isLast: boolean };

/** A unit that writes other messages each time it runs cannot be followed for ever. */
const mostAttempts = 4;

class Unseen extends Error {
  override readonly name = "Unseen";
}

export class Reception {
  readonly #options: ReceptionOptions;
  readonly #attempts = new WeakMap<StoreTx, Attempt>();

  constructor(options: ReceptionOptions) {
    this.#options = options;
  }

  /** The same store, for everybody who admits messages. Its units must be such that they can run again. */
  store(store: Store): Store {
    return {
      read: store.read,
      transact: (unit) => this.#transact(store, unit),
      onCommit: (listener) => store.onCommit(listener),
      health: () => store.health(),
      close: () => store.close(),
    };
  }

  /** The body to write, or null while hooks have not seen it. Notices of Aegis itself are not shown to them. */
  received(tx: StoreTx, session: SessionRow, sender: Sender, body: string): string | null {
    if (sender.kind === "substrate" || !this.#options.bus.has("message_received")) return body;
    const attempt = this.#attempts.get(tx);
    if (attempt === undefined) throw new Error("a message was admitted past the hooks: its store is not this one");
    // Not by session or sender: what is made together with its message may have another id each time.
    const key = JSON.stringify([attempt.places++, sender.kind, body]);
    const made = attempt.seen.get(key);
    if (made === undefined && attempt.isLast) return body;
    if (made === undefined) attempt.unseen.set(key, { session: hookSession(session), content: body, sender });
    return made ?? null;
  }

  async #transact<T>(store: Store, unit: (tx: StoreTx) => Promise<T>): Promise<T> {
    const seen: Seen = new Map();
    for (let count = 1; ; count++) {
      const attempt: Attempt = { seen, unseen: new Map(), places: 0, isLast: count === mostAttempts };
      try {
        return await store.transact(async (tx) => {
          this.#attempts.set(tx, attempt);
          const value = await unit(tx);
          if (attempt.unseen.size > 0) throw new Unseen();
          return value;
        });
      } catch (error) {
        if (!(error instanceof Unseen)) throw error;
      }
      for (const [key, context] of attempt.unseen) seen.set(key, await this.#show(context));
    }
  }

  async #show(context: MessageReceivedContext): Promise<string> {
    const { bus, log, signal } = this.#options;
    const { content } = await bus.run("message_received", context, signal);
    if (content === null) return context.content;
    try {
      checkBody(content);
      return content;
    } catch (error) {
      log.warn("what hooks made of a message cannot be sent", { session: context.session.id, error: errorText(error) });
      return context.content;
    }
  }
}
