/** Calls the first and the last hooks of a plugin in the life of a daemon. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { HookBus } from "./bus.ts";
import { daemonLane, type HookFeed } from "./follow.ts";
import type { HookTable } from "./hook-table.ts";

export type HookLifecycleOptions = {
  bus: HookBus;
  feed: HookFeed;
  table: HookTable;
  /** The sessions with a running turn. */
  working: () => Iterable<SessionId>;
  projectRoot: string;
  version: string;
};

/** The time limit for pending observers, and again for `on_shutdown`. */
const closingMs = 3_000;

export class HookLifecycle {
  readonly #options: HookLifecycleOptions;
  readonly #unfollow: () => void;
  readonly #forgetAdded: () => void;
  #isStarted = false;

  constructor(options: HookLifecycleOptions) {
    this.#options = options;
    this.#unfollow = options.feed.follow(options.table, options.working);
    const { bus, table } = options;
    // A plugin that is loaded or reloaded later has a new worker without state.
    this.#forgetAdded = table.onAdded((plugin) => {
      if (this.#isStarted && bus.events.has("on_startup"))
        bus.observeIn(plugin, "on_startup", this.#startup(), daemonLane);
    });
  }

  /** Call once the daemon is up and its plugins are loaded. */
  started(): void {
    this.#isStarted = true;
    this.#options.bus.observe("on_startup", this.#startup(), daemonLane);
  }

  /** Lets observers finish, then calls `on_shutdown`, each with a deadline. */
  async close(reason: string, forced: AbortSignal): Promise<void> {
    const { bus, feed, projectRoot } = this.#options;
    const deadline = () => AbortSignal.any([forced, AbortSignal.timeout(closingMs)]);
    this.#unfollow();
    this.#forgetAdded();
    await feed.settled();
    await bus.idle(deadline());
    bus.observe("on_shutdown", { projectRoot, reason }, daemonLane);
    await bus.drain(deadline());
  }

  #startup(): { projectRoot: string; version: string } {
    const { projectRoot, version } = this.#options;
    return { projectRoot, version };
  }
}
