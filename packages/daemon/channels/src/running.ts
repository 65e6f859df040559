/** What the daemon does with a configured channel of any kind. */
import type { ChannelView, Pairing } from "@aegis/contract/channel.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";
import type { Store } from "@aegis/store/store.ts";

export interface RunningChannel {
  readonly name: string;
  view(): Promise<ChannelView>;
  /** Checks the connection and sends a test message. Resolves with what was done; throws `AegisError`. */
  test(signal: AbortSignal): Promise<string>;
  /** Throws `AegisError` for a channel without people. */
  pair(): Promise<Pairing>;
  unpair(peer: string): Promise<boolean>;
  /** Resolves when it does nothing any more, at the latest at the deadline. What is unfinished continues after the next start. */
  stop(deadline: AbortSignal): Promise<void>;
}

export type ChannelBase = { store: Store; clock: Clock; log: Logger };

/** Background work of a channel that ends together. */
export class Tasks {
  readonly #end = new AbortController();
  readonly #running: Promise<unknown>[] = [];

  /** `work` must not reject. */
  add(work: (signal: AbortSignal) => Promise<unknown>): void {
    this.#running.push(work(this.#end.signal));
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#end.abort();
    await untilAborted(Promise.allSettled(this.#running), deadline).catch(() => {});
  }
}
