/** The state of one channel, as `aegis status` and `aegis doctor` show it. */
import type { ChannelState, ChannelView } from "@aegis/contract/channel.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";

export type HealthView = Pick<ChannelView, "state" | "since" | "last_ok" | "detail" | "fix" | "ignored">;

/** States that end without a person. */
const passing: Partial<Record<ChannelState, string>> = {
  rate_limited: "nothing to do: Aegis waits and then continues",
  unreachable: "check the network and the address; Aegis keeps everything and tries again",
};

export class ChannelHealth {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #channel: string;
  #state: ChannelState = "starting";
  #since: number;
  #lastOk: number | null = null;
  #detail = "not connected yet";
  #fix: string | null = null;
  #ignored = 0;

  constructor(options: { clock: Clock; log: Logger; channel: string }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#channel = options.channel;
    this.#since = this.#clock.now();
  }

  get state(): ChannelState {
    return this.#state;
  }

  ok(detail: string): void {
    this.#lastOk = this.#clock.now();
    this.set("ok", detail);
  }

  /** Records a new state. A change is logged once. */
  set(state: ChannelState, detail: string, fix: string | null = passing[state] ?? null): void {
    const isNew = state !== this.#state;
    this.#detail = detail;
    this.#fix = fix;
    if (!isNew) return;
    this.#state = state;
    this.#since = this.#clock.now();
    const isGood = state === "ok" || state === "starting";
    this.#log[isGood ? "info" : "warn"]("a channel changed its state", { channel: this.#channel, state, detail });
  }

  /** Counts a message of someone who is not allowed. Its content is neither stored nor logged. */
  ignore(): void {
    this.#ignored += 1;
  }

  view(): HealthView {
    return {
      state: this.#state,
      since: this.#since,
      last_ok: this.#lastOk,
      detail: this.#detail,
      fix: this.#fix,
      ignored: this.#ignored,
    };
  }
}
