/** Limits the messages per minute of each agent, so that one cannot flood the others. People are never limited. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { Clock } from "@aegis/lib/clock.ts";

const windowMs = 60_000;

export class SenderLimits {
  readonly #clock: Clock;
  readonly #perMinute: () => number;
  readonly #sent = new Map<SessionId, number[]>();
  #sweptAt = 0;

  constructor(clock: Clock, perMinute: () => number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Counts a message of the sender. Throws `too_many` if the sender exceeded its limit. */
  count(sender: Extract<Sender, { kind: "agent" }>): void {
    const now = this.#clock.now();
    this.#sweep(now);
    const recent = (this.#sent.get(sender.session) ?? []).filter((at) => at > now - windowMs);
    const limit = this.#perMinute();
    if (recent.length >= limit) {
      const wait = Math.ceil(((recent[0] ?? now) + windowMs - now) / 1000);
      throw new AegisError("too_many", `refused: you have sent ${limit} messages within a minute`, {
        hint: `wait ${wait} s, and put more into one message`,
      });
    }
    this.#sent.set(sender.session, [...recent, now]);
  }

  /** Forgets senders whose last message no longer counts, including those of closed sessions. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < windowMs) return;
    this.#sweptAt = now;
    for (const [session, sent] of this.#sent) {
      if ((sent.at(-1) ?? 0) <= now - windowMs) this.#sent.delete(session);
    }
  }
}
