/** Reaches the process of a session on the node where it runs: this one, or another one through a command. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Store } from "@aegis/store/store.ts";
import { nodeOf } from "./node-of.ts";
import type { Commands } from "./requests.ts";

/** Whether a message joined the current turn; otherwise the reason, if there was a turn to join. */
export type SteerOutcome = { joined: true } | { joined: false; why: string | null };

/** What this node can do with the processes of its own sessions. */
type LocalProcesses = {
  wake(session: SessionId): void;
  interrupt(session: SessionId): Promise<boolean>;
  steer(message: Message): Promise<SteerOutcome>;
  current(session: SessionId): readonly Message[];
  reopenNext(session: SessionId): void;
};

export type SessionProcessesOptions = { store: Store; commands: Commands; local: LocalProcesses };

export class SessionProcesses {
  readonly #options: SessionProcessesOptions;
  readonly #node: string | null;

  constructor(options: SessionProcessesOptions) {
    this.#options = options;
    this.#node = nodeOf(options.store);
    const { commands, local, store } = options;
    commands.handle("interrupt", (args) => local.interrupt(args as SessionId));
    commands.handle("reopen", async (args) => local.reopenNext(args as SessionId));
    commands.handle("steer", async (args) => {
      const message = await store.read.messages.get(args as Message["id"]);
      return message?.status === "pending" ? local.steer(message) : { joined: false, why: null };
    });
  }

  /** A hint that the session has messages. Another node sees them in its feed. */
  wake(session: SessionId): void {
    this.#options.local.wake(session);
  }

  /** Ends the current turn and waits for its end. Returns false if there is none. */
  async interrupt(session: SessionId): Promise<boolean> {
    const { local, commands } = this.#options;
    const node = await this.#elsewhere(session);
    return node === null ? local.interrupt(session) : ((await commands.send(node, "interrupt", session)) as boolean);
  }

  /** Adds a pending message to the current turn. */
  async steer(message: Message): Promise<SteerOutcome> {
    const { local, commands } = this.#options;
    const node = await this.#elsewhere(message.session);
    return node === null ? local.steer(message) : ((await commands.send(node, "steer", message.id)) as SteerOutcome);
  }

  /** The messages that the session is answering now. */
  async current(session: SessionId): Promise<readonly Message[]> {
    const { local, store } = this.#options;
    if ((await this.#elsewhere(session)) === null) return local.current(session);
    const [turn] = await store.read.turns.list(session, 1);
    return turn === undefined || turn.ended_at !== null ? [] : store.read.messages.inTurn(turn.id);
  }

  /** Makes the next turn reopen the conversation. */
  async reopenNext(session: SessionId): Promise<void> {
    const { local, commands } = this.#options;
    const node = await this.#elsewhere(session);
    if (node === null) local.reopenNext(session);
    else await commands.send(node, "reopen", session);
  }

  /** The node of a session that runs on another one; null if it runs here. */
  async #elsewhere(session: SessionId): Promise<string | null> {
    if (this.#node === null) return null;
    const node = (await this.#options.store.read.sessions.get(session))?.node ?? null;
    return node === this.#node ? null : node;
  }
}
