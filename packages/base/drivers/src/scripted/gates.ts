/** Files that offline agents wait for. All waiters of one file share its watch, because there may be thousands. */
import { access } from "node:fs/promises";
import type { Clock } from "@aegis/lib/clock.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";

type Watch = { opened: Promise<void>; waiting: number; stop: AbortController };

const pollMs = 20;

export class Gates {
  readonly #clock: Clock;
  readonly #watches = new Map<string, Watch>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the file exists. */
  async passed(file: string, signal: AbortSignal): Promise<void> {
    const watch = this.#watches.get(file) ?? this.#watch(file);
    watch.waiting += 1;
    try {
      await untilAborted(watch.opened, signal);
    } finally {
      watch.waiting -= 1;
      if (watch.waiting === 0) this.#forget(file, watch);
    }
  }

  #watch(file: string): Watch {
    const stop = new AbortController();
    const watch = { opened: this.#open(file, stop.signal), waiting: 0, stop };
    // When the last waiter stops the watch, nothing awaits this promise any more.
    watch.opened.catch(() => {});
    this.#watches.set(file, watch);
    return watch;
  }

  #forget(file: string, watch: Watch): void {
    watch.stop.abort();
    if (this.#watches.get(file) === watch) this.#watches.delete(file);
  }

  async #open(file: string, signal: AbortSignal): Promise<void> {
    while (!(await exists(file))) await this.#clock.sleep(pollMs, signal);
  }
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
