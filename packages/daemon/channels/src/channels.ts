/**
 * The configured channels of a project: starts them, stops them, and replaces those whose settings changed. A channel's
 * code is loaded when the channel is configured, so that a project without channels has no cost for them.
 */
import type { ChannelView, Pairing } from "@aegis/contract/channel.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { Store } from "@aegis/store/store.ts";
import type { RunningChannel } from "./running.ts";

/** A channel as the settings describe it. */
export type ChannelPlan = {
  name: string;
  kind: ChannelView["kind"];
  /** Equal fingerprints mean equal settings. It contains no secret. */
  fingerprint: string;
  /** It can receive before plugins are loaded: it only stores what arrives until the other channels start. */
  early?: boolean;
  /** Loads the code and starts the channel. Throws `AegisError` if a setting or a secret is missing. */
  start: () => Promise<RunningChannel>;
};

export type ChannelsOptions = {
  /** The channels of the current settings. */
  planned: () => readonly ChannelPlan[];
  store: Store;
  clock: Clock;
  log: Logger;
};

type Entry = { plan: ChannelPlan; running: RunningChannel } | { plan: ChannelPlan; problem: AegisError; since: number };

const keptMs = 30 * 24 * 3_600_000;

export class Channels {
  readonly #options: ChannelsOptions;
  #entries = new Map<string, Entry>();
  /** Which channels run: none, those that only store what arrives, or all. */
  #phase: "none" | "early" | "all" = "none";
  readonly #ready = Promise.withResolvers<void>();
  /** Changes are applied one after another. */
  #applying: Promise<void> = Promise.resolve();

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** Starts the channels that must not miss anything while the daemon starts. */
  async listen(): Promise<void> {
    if (this.#phase === "none") this.#phase = "early";
    await this.settingsChanged();
  }

  async start(): Promise<void> {
    this.#phase = "all";
    await this.settingsChanged();
    this.#ready.resolve();
  }

  /** Resolves when the channels have started for the first time, or the daemon stops before. */
  started(): Promise<void> {
    return this.#ready.promise;
  }

  /** Applies the current settings. Channels whose settings are the same keep running. */
  settingsChanged(): Promise<void> {
    this.#applying = this.#applying.then(() => this.#apply());
    return this.#applying;
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#phase = "none";
    this.#ready.resolve();
    await this.#applying;
    const entries = [...this.#entries.values()];
    this.#entries = new Map();
    await Promise.all(entries.map((entry) => ("running" in entry ? entry.running.stop(deadline) : undefined)));
  }

  /** Includes the channels that are about to start. */
  async list(): Promise<ChannelView[]> {
    const { planned, clock } = this.#options;
    const running = [...this.#entries.values()];
    const coming = planned().filter(({ name }) => !this.#entries.has(name));
    return Promise.all([...running.map(viewOf), ...coming.map((plan) => startingView(plan, clock.now()))]);
  }

  async pair(name: string): Promise<Pairing> {
    return (await this.#running(name)).pair();
  }

  async unpair(name: string, peer: string): Promise<boolean> {
    return (await this.#running(name)).unpair(peer);
  }

  async test(name: string, signal: AbortSignal): Promise<string> {
    return (await this.#running(name)).test(signal);
  }

  async #running(name: string): Promise<RunningChannel> {
    await this.started();
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      const names = [...this.#entries.keys()];
      const known =
        names.length === 0 ? "none is configured; see docs/channels.md" : `channels here: ${names.join(", ")}`;
      throw new AegisError("not_found", `no channel "${name}"${didYouMean(name, names)}`, { hint: known });
    }
    if ("problem" in entry) throw entry.problem;
    return entry.running;
  }

  async #apply(): Promise<void> {
    if (this.#phase === "none") return;
    const isEarly = this.#phase === "early";
    const { planned, clock, log } = this.#options;
    const plans = new Map(
      planned()
        .filter(({ early = false }) => early || !isEarly)
        .map((plan) => [plan.name, plan]),
    );
    if (plans.size > 0 && this.#entries.size === 0) await this.#prune();
    for (const [name, entry] of this.#entries) {
      // A channel that could not start is tried again: its variable or file may exist now.
      if ("running" in entry && plans.get(name)?.fingerprint === entry.plan.fingerprint) continue;
      this.#entries.delete(name);
      if ("running" in entry) await entry.running.stop(AbortSignal.timeout(stopMs));
    }
    for (const [name, plan] of plans) {
      if (this.#entries.has(name)) continue;
      try {
        this.#entries.set(name, { plan, running: await plan.start() });
      } catch (error) {
        const problem = isAegisError(error) ? error : new AegisError("internal", errorText(error));
        log.warn("a channel could not start", { channel: name, error: problem.message });
        this.#entries.set(name, { plan, problem, since: clock.now() });
      }
    }
  }

  /** Forgets deliveries that ended long ago. */
  async #prune(): Promise<void> {
    const { store, clock, log } = this.#options;
    await store
      .transact((tx) => tx.channels.prune(clock.now() - keptMs))
      .catch((error: unknown) => log.warn("old deliveries could not be removed", { error: errorText(error) }));
  }
}

const stopMs = 5_000;

function startingView({ name, kind }: ChannelPlan, now: number): ChannelView {
  return {
    name,
    kind,
    state: "starting",
    since: now,
    last_ok: null,
    detail: "not started yet",
    fix: null,
    waiting: 0,
    failed: 0,
    ignored: 0,
    peers: [],
  };
}

async function viewOf(entry: Entry): Promise<ChannelView> {
  if ("running" in entry) return entry.running.view();
  const { plan, problem, since } = entry;
  return {
    name: plan.name,
    kind: plan.kind,
    state: "off",
    since,
    last_ok: null,
    detail: problem.message,
    fix: problem.hint ?? null,
    waiting: 0,
    failed: 0,
    ignored: 0,
    peers: [],
  };
}
