/**
 * Wakes and interrupts sessions on behalf of parts that are made before them, such as the inbox. Filled once, with what
 * reaches the processes of sessions. Until then there is no process: a hint is lost, as it may be.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { SteerOutcome } from "@aegis/nodes/session-processes.ts";

export type HintedSessions = {
  /** A hint that the session has messages. */
  wake(session: SessionId): void;
  /** Ends the current turn. Returns false if there is none. */
  interrupt(session: SessionId): Promise<boolean>;
  /** Adds a pending message to the current turn. */
  steer(message: Message): Promise<SteerOutcome>;
};

export class SessionHints implements HintedSessions {
  #sessions: HintedSessions | null = null;

  fill(sessions: HintedSessions): void {
    this.#sessions = sessions;
  }

  wake(session: SessionId): void {
    this.#sessions?.wake(session);
  }

  async interrupt(session: SessionId): Promise<boolean> {
    return (await this.#sessions?.interrupt(session)) ?? false;
  }

  async steer(message: Message): Promise<SteerOutcome> {
    return (await this.#sessions?.steer(message)) ?? { joined: false, why: null };
  }
}
