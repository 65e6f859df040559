/** Shows that a session is working, in the places where its answers go. None of it is stored. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { aborted } from "@aegis/lib/until-aborted.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Channel } from "../channel.ts";

export type TypingOptions = { store: Store; clock: Clock; name: string; channel: Pick<Channel, "typing"> };

/** Services show it for about five seconds. */
const repeatMs = 4_500;

export class Typing {
  readonly #options: TypingOptions;
  readonly #shown = new Map<SessionId, AbortController>();

  constructor(options: TypingOptions) {
    this.#options = options;
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { store } = this.#options;
    const stop = store.onCommit(
      (events) => {
        for (const { type, session } of events) {
          if (session === null) continue;
          this.#shown.get(session)?.abort();
          this.#shown.delete(session);
          if (type === "turn.started") this.#show(session, signal);
        }
      },
      ["turn.started", "turn.ended"],
    );
    await aborted(signal);
    stop();
  }

  #show(session: SessionId, signal: AbortSignal): void {
    const { store, clock, name, channel } = this.#options;
    const end = new AbortController();
    this.#shown.set(session, end);
    const over = AbortSignal.any([end.signal, signal]);
    const show = async () => {
      const places = await store.read.channels.placesOf(name, session);
      while (places.length > 0 && !over.aborted) {
        await Promise.all(places.map((place) => channel.typing(place, over).catch(() => {})));
        await clock.sleep(repeatMs, over);
      }
    };
    show().catch(() => {});
  }
}
