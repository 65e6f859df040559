/**
 * Keeps a plugin's code running: restarts a dead worker with backoff, and gives up on one that keeps crashing. Callers
 * notice a crash only if their call was running. Calls wait for a worker that is still loading.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import type { RunId } from "@aegis/contract/ids.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { errorText } from "@aegis/lib/log.ts";
import { unlessAborted, untilAborted } from "@aegis/lib/until-aborted.ts";
import type { WorkflowContext } from "@aegis/plugin-api/workflow-context.ts";
import type { Contributions, WorkerCall } from "../protocol.ts";
import { type Death, DeclarationsChanged, PluginGone } from "./errors.ts";
import type { CallOptions } from "./open-calls.ts";
import { type Body, runBody } from "./run-body.ts";
import type { QueuedStart, StartQueue } from "./start-queue.ts";
import { PluginWorker, type WorkerOptions } from "./worker.ts";

export type CodeHostOptions = WorkerOptions & {
  /**
   * Called after each crash that is followed by a restart, and once when there is no further restart. Must not throw.
   */
  onDeath: (death: Death, retryMs: number | null) => void;
  onRestored: () => void;
  /** Replays a run whose worker died. */
  restartRun: (run: RunId, reason: string) => void;
};

/** The delay before each restart. */
const restartBackoff: Backoff = { firstMs: 100, longestMs: 5_000, factor: 5 };
const mostRestarts = 4;
/** A worker that lived this long counts as healthy again. */
const healthyMs = 60_000;
/** How many crashes of its worker a run may cause. */
const deathsPerRun = 2;
const retireMs = 60_000;
/** Shorter than the engine waits for a run that it releases. */
const stepMs = 2_000;
const pollMs = 20;

export class CodeHost {
  readonly contributions: Contributions;
  readonly #options: CodeHostOptions;
  readonly #runs = new Map<RunId, Body>();
  /** Runs that wait for the first worker. */
  readonly #waitingRuns = new Set<RunId>();
  readonly #runDeaths = new Map<RunId, number>();
  readonly #closed = new AbortController();
  #live: Promise<PluginWorker>;
  /** Null until the first worker has loaded. */
  #worker: PluginWorker | null = null;
  #loading: QueuedStart<PluginWorker> | null = null;
  #startedAt = performance.now();
  #deaths = 0;

  /** Throws `PluginLoadError`. */
  static async open(options: CodeHostOptions): Promise<CodeHost> {
    const { worker, contributions } = await PluginWorker.start(options);
    const host = new CodeHost(options, contributions, Promise.resolve(worker));
    host.#follow(worker);
    return host;
  }

  /**
   * Returns before the code is loaded. `declared` is what the same code declared before. If the code now declares
   * something else, or does not load, `loaded` and all calls reject.
   */
  static begin(options: CodeHostOptions, declared: Contributions, starts: StartQueue): CodeHost {
    const { promise, resolve } = Promise.withResolvers<PluginWorker>();
    const host = new CodeHost(options, declared, promise);
    host.#loading = starts.add(() => host.#start());
    host.#live.catch(() => {});
    resolve(
      host.#loading.done.finally(() => {
        host.#loading = null;
      }),
    );
    return host;
  }

  private constructor(options: CodeHostOptions, contributions: Contributions, live: Promise<PluginWorker>) {
    this.#options = options;
    this.contributions = contributions;
    this.#live = live;
  }

  /** Settles when the first worker has loaded. Throws `PluginLoadError`. */
  async loaded(): Promise<void> {
    await this.#live;
  }

  /** Loads before the workers that no caller waits for. */
  hurry(): void {
    this.#loading?.hurry();
  }

  /** Runs whose body is executing here or waits for the first worker, also after that has failed to load. */
  get runs(): RunId[] {
    return [...this.#runs.keys(), ...this.#waitingRuns];
  }

  /** While the worker restarts, the call waits within its own timeout. */
  async call(call: WorkerCall, options: CallOptions): Promise<unknown> {
    if (this.#worker === null) await this.#firstWorker(options.signal);
    else if (!this.#worker.isDead && this.#worker.doubt === null) return this.#worker.call(call, options);
    const begun = performance.now();
    const worker = await this.#within(options);
    const { timeoutMs } = options;
    const left = timeoutMs === null ? null : Math.max(1, timeoutMs - (performance.now() - begun));
    return worker.call(call, { ...options, timeoutMs: left });
  }

  /**
   * Runs a workflow's body. If the worker dies, the run is replayed. A run that was executing its own code when the
   * worker stopped answering counts as the cause and fails.
   */
  async run(index: number, context: WorkflowContext, args: unknown): Promise<unknown> {
    const id = context.workflowId as RunId;
    if (this.#worker === null) {
      this.#waitingRuns.add(id);
      this.hurry();
      const loaded = await this.#live.then(
        () => true,
        () => false,
      );
      // The owner hands the run over when it handles the failure.
      if (!loaded) return never();
      this.#waitingRuns.delete(id);
    }
    const worker = await this.#alive();
    const body = runBody(worker, index, context, args);
    this.#runs.set(id, body);
    try {
      const result = await body.result;
      this.#runDeaths.delete(id);
      return result;
    } catch (error) {
      if (!(error instanceof PluginGone)) throw error;
      if (this.#closed.signal.aborted) return never();
      if (!body.isWaiting()) this.#blame(id, error);
      this.#options.restartRun(id, error.message);
      return never();
    } finally {
      if (this.#runs.get(id) === body) this.#runs.delete(id);
    }
  }

  /**
   * Ends the worker after the running calls have ended or timed out. Steps of runs that are now handed over get much
   * less time, because they must not be performed twice at once.
   */
  async retire(): Promise<void> {
    const begun = performance.now();
    const { signal } = this.#closed;
    const isUnderWay = () => {
      const waited = performance.now() - begun;
      if (this.#worker === null) return false;
      if (this.#worker.calls.performing > 0) return waited < stepMs;
      return this.#worker.calls.count > 0 && waited < retireMs;
    };
    while (isUnderWay() && !signal.aborted) await systemClock.sleep(pollMs, signal).catch(() => {});
    await this.close();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.hurry();
    if (this.#worker === null) await this.#live.catch(() => {});
    await this.#worker?.terminate("Aegis stopped it");
  }

  /** A call waits for the first load beyond its own timeout: `loadMs` bounds the load. */
  async #firstWorker(signal: AbortSignal | undefined): Promise<void> {
    this.hurry();
    await (signal === undefined ? this.#live : untilAborted(this.#live, signal));
  }

  /** Starts a worker that must declare the same as before. */
  async #start(): Promise<PluginWorker> {
    const { signal } = this.#closed;
    signal.throwIfAborted();
    const { worker, contributions } = await PluginWorker.start({ ...this.#options, signal });
    try {
      signal.throwIfAborted();
      this.#requireSame(contributions);
    } catch (error) {
      await worker.terminate(errorText(error));
      throw error;
    }
    this.#follow(worker);
    return worker;
  }

  #blame(id: RunId, gone: PluginGone): void {
    const deaths = (this.#runDeaths.get(id) ?? 0) + 1;
    this.#runDeaths.set(id, deaths);
    const { why } = gone.death;
    if (why === "stuck" || why === "memory" || deaths >= deathsPerRun) {
      this.#runDeaths.delete(id);
      throw new Error(`the run took its plugin's worker down: ${gone.death.message}`);
    }
  }

  async #within({ timeoutMs, signal, what }: CallOptions): Promise<PluginWorker> {
    const late = timeoutMs === null ? [] : [AbortSignal.timeout(timeoutMs)];
    const over = AbortSignal.any([...late, ...(signal === undefined ? [] : [signal])]);
    const worker = await unlessAborted(this.#alive(), over);
    if (worker !== "aborted") return worker;
    signal?.throwIfAborted();
    throw new AegisError("unavailable", `${what} cannot be reached: its plugin is being started again`);
  }

  async #alive(): Promise<PluginWorker> {
    while (true) {
      const worker = await this.#live;
      // A call to a stuck worker would fail with it.
      if (worker.doubt !== null) await worker.doubt;
      if (!worker.isDead) return worker;
      const death = await worker.ended;
      if (this.#closed.signal.aborted) throw new PluginGone(worker.plugin, death);
    }
  }

  #follow(worker: PluginWorker): void {
    this.#worker = worker;
    this.#startedAt = performance.now();
    void worker.ended.then((death) => {
      if (this.#closed.signal.aborted) return;
      this.#live = this.#restart(death);
      this.#live.catch(() => {});
    });
  }

  async #restart(first: Death): Promise<PluginWorker> {
    if (performance.now() - this.#startedAt > healthyMs) this.#deaths = 0;
    const { signal } = this.#closed;
    for (let death = first; ; ) {
      this.#deaths += 1;
      const wait = this.#deaths > mostRestarts ? null : backoffMs(restartBackoff, this.#deaths);
      this.#options.onDeath(death, wait);
      if (wait === null) throw new PluginGone(this.#options.start.plugin, death);
      await systemClock.sleep(wait, signal);
      try {
        const worker = await this.#start();
        this.#options.onRestored();
        return worker;
      } catch (error) {
        signal.throwIfAborted();
        death = { why: "crash", message: errorText(error), stack: null };
      }
    }
  }

  #requireSame(contributions: Contributions): void {
    if (JSON.stringify(contributions) === JSON.stringify(this.contributions)) return;
    throw new DeclarationsChanged("its modules no longer define what they did when it was loaded; reload it");
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
