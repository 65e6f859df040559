/**
 * Keeps a plugin's code running: starts its worker again when it dies, later each time, and gives up on one that keeps
 * dying. Whoever calls notices a death only by the calls that were under way.
 */
import { AegisError } from "../../../contract/errors.ts";
import type { RunId } from "../../../contract/ids.ts";
import { systemClock } from "../../../lib/clock.ts";
import { errorText } from "../../../lib/log.ts";
import type { Engine } from "../../../plugin-api/engine.ts";
import type { Contributions, WorkerCall } from "../protocol.ts";
import { type Death, PluginGone } from "./errors.ts";
import type { CallOptions } from "./open-calls.ts";
import { type Body, runBody } from "./run-body.ts";
import { PluginWorker, type WorkerOptions } from "./worker.ts";

export type CodeHostOptions = WorkerOptions & {
  /** Told after each death that is followed by a new start, and once when there will be none. Must not throw. */
  onDeath: (death: Death, retryMs: number | null) => void;
  onRestored: () => void;
  /** Takes a run up again from its record, whose worker died under it. */
  restartRun: (run: RunId, reason: string) => void;
};

/** How long to wait before each new start; after the last one there is none. */
const backoffMs = [100, 500, 2_000, 5_000];
/** A worker that lived so long is taken for healthy again. */
const healthyMs = 60_000;
/** How often a run may take its worker down with it. */
const deathsPerRun = 2;
const retireMs = 60_000;
/** Less than an engine waits for a run that it lets go. */
const stepMs = 2_000;
const pollMs = 20;

export class CodeHost {
  readonly contributions: Contributions;
  readonly #options: CodeHostOptions;
  readonly #runs = new Map<RunId, Body>();
  readonly #runDeaths = new Map<RunId, number>();
  readonly #closed = new AbortController();
  #live: Promise<PluginWorker>;
  #worker: PluginWorker;
  #startedAt = performance.now();
  #deaths = 0;

  /** Throws `PluginLoadError`. */
  static async open(options: CodeHostOptions): Promise<CodeHost> {
    const { worker, contributions } = await PluginWorker.start(options);
    return new CodeHost(options, worker, contributions);
  }

  private constructor(options: CodeHostOptions, worker: PluginWorker, contributions: Contributions) {
    this.#options = options;
    this.contributions = contributions;
    this.#worker = worker;
    this.#live = Promise.resolve(worker);
    this.#follow(worker);
  }

  get busy(): number {
    return this.#worker.busy;
  }

  /** Runs whose body is under way here. */
  get runs(): RunId[] {
    return [...this.#runs.keys()];
  }

  /** While the worker is being started again, the call waits within its own time. */
  async call(call: WorkerCall, options: CallOptions): Promise<unknown> {
    if (!this.#worker.isDead && this.#worker.doubt === null) return this.#worker.call(call, options);
    const begun = performance.now();
    const worker = await this.#within(options);
    const { timeoutMs } = options;
    const left = timeoutMs === null ? null : Math.max(1, timeoutMs - (performance.now() - begun));
    return worker.call(call, { ...options, timeoutMs: left });
  }

  /**
   * Runs a workflow's body. When the worker dies under it, the run is taken up again from its record; one that was at
   * work on something of its own when its worker stopped answering is taken for the cause, and fails.
   */
  async run(index: number, engine: Engine, args: unknown): Promise<unknown> {
    const id = engine.workflowId as RunId;
    const worker = await this.#alive();
    const body = runBody(worker, index, engine, args);
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
   * Ends it when the calls under way have ended, or have had long enough. Steps of runs that others take up now get much
   * less time: they must not be performed twice at once.
   */
  async retire(): Promise<void> {
    const begun = performance.now();
    const { signal } = this.#closed;
    const isUnderWay = () => {
      const waited = performance.now() - begun;
      if (this.#worker.performing > 0) return waited < stepMs;
      return this.#worker.busy > 0 && waited < retireMs;
    };
    while (isUnderWay() && !signal.aborted) await systemClock.sleep(pollMs, signal).catch(() => {});
    await this.close();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#worker.terminate("Aegis stopped it");
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
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = () =>
      reject(
        signal?.aborted
          ? signal.reason
          : new AegisError("unavailable", `${what} cannot be reached: its plugin is being started again`),
      );
    over.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([this.#alive(), promise]);
    } finally {
      over.removeEventListener("abort", onAbort);
    }
  }

  async #alive(): Promise<PluginWorker> {
    while (true) {
      const worker = await this.#live;
      // A call to a worker that is stuck would die with it.
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
      const wait = backoffMs[this.#deaths] ?? null;
      this.#deaths += 1;
      this.#options.onDeath(death, wait);
      if (wait === null) throw new PluginGone(this.#options.start.plugin, death);
      await systemClock.sleep(wait, signal);
      try {
        const { worker, contributions } = await PluginWorker.start(this.#options);
        if (signal.aborted) await worker.terminate("Aegis stopped it");
        signal.throwIfAborted();
        this.#requireSame(contributions);
        this.#follow(worker);
        this.#options.onRestored();
        return worker;
      } catch (error) {
        signal.throwIfAborted();
        death = { why: "crash", message: errorText(error), stack: null };
      }
    }
  }

  /** Calls name parts by their place, so that a worker that defines others must not be called. */
  #requireSame(contributions: Contributions): void {
    if (JSON.stringify(contributions) === JSON.stringify(this.contributions)) return;
    throw new Error("its modules define something else than when it was loaded; reload it");
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
