/** Starts, calls, watches and stops a plugin's worker. A worker that stops answering is killed. */

import { Worker } from "node:worker_threads";
import { Consent } from "@aegis/lib/consent.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import type { LogLevel } from "@aegis/plugin-api/context.ts";
import {
  type Contributions,
  fromWorker,
  type LoadStep,
  type ToWorker,
  type WorkerCall,
  type WorkerData,
  type WorkerStart,
} from "../protocol.ts";
import { guardEntry, workerEntry } from "./entries.ts";
import { crashOf, type Death, PluginGone, PluginLoadError, wireMessage } from "./errors.ts";
import { type CallOptions, OpenCalls } from "./open-calls.ts";
import { WorkerWatchdog } from "./watchdog.ts";

export type WorkerLimits = {
  /** The heap limit. */
  memoryMb: number;
  /** The time limit for loading its modules. */
  loadMs: number;
  /** How long it may be busy without answering while a caller waits. */
  unresponsiveMs: number;
};

export const defaultWorkerLimits: WorkerLimits = { memoryMb: 256, loadMs: 10_000, unresponsiveMs: 15_000 };

export type WorkerOptions = {
  start: WorkerStart;
  env: Record<string, string>;
  limits: WorkerLimits;
  log: (level: LogLevel, text: string) => void;
  /** Called at each start, because the modules are read from disk then. */
  consent: () => Promise<Consent>;
  /** Marks processes that the plugin starts, so that they end with the worker. */
  mark: Processes["mark"];
  /** Ends a worker that is still loading. */
  signal?: AbortSignal;
};

/** Once a call is late, the worker has this long to prove that it still runs. */
const lateMs = 1_000;

export class PluginWorker {
  readonly ended: Promise<Death>;
  readonly #options: WorkerOptions;
  readonly #worker: Worker;
  readonly calls: OpenCalls;
  readonly #loaded = Promise.withResolvers<Contributions>();
  readonly #end = Promise.withResolvers<Death>();
  #death: Death | null = null;
  /** The last reported load step; null if nothing is loading. */
  #loading: { file: string; step: LoadStep } | null = null;
  readonly #watchdog: WorkerWatchdog;
  readonly #unwatch: () => void;
  readonly #started: ReturnType<Processes["mark"]>;

  /** Throws `PluginLoadError` if the modules cannot be loaded; nothing runs then. */
  static async start(options: WorkerOptions): Promise<{ worker: PluginWorker; contributions: Contributions }> {
    Consent.spend(await options.consent());
    const worker = new PluginWorker(options);
    const { loadMs } = options.limits;
    const timer = setTimeout(() => {
      worker.#fail(worker.#neverLoaded(`within ${loadMs / 1000} s`));
    }, loadMs);
    const release = onAbort(options.signal ?? never, () =>
      worker.#fail(new PluginLoadError("Aegis stopped it", nowhere)),
    );
    try {
      return { worker, contributions: await worker.#loaded.promise };
    } catch (error) {
      await worker.terminate("it could not be loaded");
      throw error;
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  private constructor(options: WorkerOptions) {
    this.#options = options;
    this.ended = this.#end.promise;
    this.#loaded.promise.catch(() => {});
    const { memoryMb } = options.limits;
    this.#started = options.mark();
    this.#worker = new Worker(workerEntry(), {
      name: `plugin ${options.start.plugin}`,
      workerData: { ...options.start, guard: guardEntry().href } satisfies WorkerData,
      env: { ...options.env, ...this.#started.env },
      execArgv: ["--disable-warning=ExperimentalWarning"],
      stdout: true,
      stderr: true,
      trackUnmanagedFds: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, stackSizeMb: 4 },
    });
    // Only output that Node writes past the worker's capture arrives here.
    for (const stream of [this.#worker.stdout, this.#worker.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => options.log("warn", text.trimEnd()));
    this.#watchdog = new WorkerWatchdog({
      limitMs: options.limits.unresponsiveMs,
      isBusy: () => this.calls.count > 0,
      ping: (id) => this.post({ type: "ping", id }),
      onStuck: (ms) => {
        const seconds = Math.max(1, Math.round(ms / 1000));
        void this.terminate(`it did not answer for ${seconds} s and was killed (an endless loop?)`, "stuck");
      },
    });
    this.calls = new OpenCalls({
      post: (message) => this.post(message),
      onBegin: () => this.#watchdog.watch(),
      // Distinguishes a stuck worker from a slow one.
      onGiveUp: () => this.#watchdog.demand(lateMs),
    });
    this.#unwatch = watchMemory(this.#worker, {
      limitMb: memoryMb,
      onOver: () => void this.terminate(this.#tooMuchMemory, "memory"),
    });
    this.#worker.on("message", (message: unknown) => this.#take(message));
    this.#worker.on("messageerror", (error) => options.log("error", `a message was lost: ${error.message}`));
    this.#worker.on("error", (error: unknown) => this.#crashed(error));
    this.#worker.on("exit", (code) => this.#exited(code));
  }

  get plugin(): string {
    return this.#options.start.plugin;
  }

  get isDead(): boolean {
    return this.#death !== null;
  }

  /** Settles when it is known whether the worker still runs; null if that is not in question. */
  get doubt(): Promise<void> | null {
    return this.#watchdog.doubt;
  }

  /** Rejects with what the plugin threw, `timeout`, the signal's reason, or `PluginGone`. */
  call(call: WorkerCall, options: CallOptions): Promise<unknown> {
    return this.calls.begin(call, options).result;
  }

  /** Ends it now. Running calls fail with `PluginGone`. */
  async terminate(message: string, why: Death["why"] = "closed"): Promise<void> {
    this.#dies({ why, message, stack: null });
    await this.#worker.terminate();
    await this.#endStarted();
  }

  /** Ends the programs that the plugin started, because their output is no longer read. */
  async #endStarted(): Promise<void> {
    await this.#started
      .end()
      .catch((error: unknown) => this.#options.log("error", `what it started is still running: ${errorText(error)}`));
  }

  /** Does nothing once the worker has died. */
  post(message: ToWorker): void {
    if (this.#death === null) this.#worker.postMessage(message);
  }

  #take(value: unknown): void {
    const message = fromWorker(value);
    if (message === null) {
      this.#options.log("warn", "the plugin sent its own messages over the worker's port; they are ignored");
      return;
    }
    switch (message.type) {
      case "loading":
        this.#loading = message;
        break;
      case "loaded":
        this.#loading = null;
        this.#loaded.resolve(message.contributions);
        break;
      case "broken":
        this.#fail(new PluginLoadError(wireMessage(message.error), message));
        break;
      case "pong":
        this.#watchdog.heard(message.id);
        break;
      case "log":
        this.#options.log(message.level, message.text);
        break;
      default:
        this.calls.take(message);
    }
  }

  /** Names the module that was being loaded. */
  #neverLoaded(when: string): PluginLoadError {
    if (this.#loading === null) return new PluginLoadError(`its modules did not load ${when}`, nowhere);
    const { file, step } = this.#loading;
    const what = step === "import" ? "the module did not load" : "register() did not finish";
    const cause = step === "import" ? "a top-level await" : "a promise";
    const hint = `${cause} that never settles, an endless loop or process.exit?`;
    return new PluginLoadError(`${what} ${when} (${hint})`, { file, line: null });
  }

  #fail(error: PluginLoadError): void {
    this.#loaded.reject(error);
  }

  #crashed(error: unknown): void {
    const death = crashOf(error, this.#options.start, this.#tooMuchMemory);
    if (death.why === "crash") this.#options.log("error", death.stack ?? death.message);
    this.#dies(death);
  }

  get #tooMuchMemory(): string {
    return `it used more than ${this.#options.limits.memoryMb} MB of memory`;
  }

  #exited(code: number): void {
    // A thread ends by itself if nothing is left that could settle the promise on which its module waits.
    if (this.#loading !== null) this.#fail(this.#neverLoaded(`before its worker exited with code ${code}`));
    this.#dies({ why: "exit", message: `its worker exited with code ${code} (process.exit?)`, stack: null });
    void this.#endStarted();
    this.#end.resolve(this.#death as Death);
  }

  #dies(death: Death): void {
    if (this.#death !== null) return;
    this.#death = death;
    this.#watchdog.stop();
    this.#unwatch();
    this.#fail(new PluginLoadError(death.message, nowhere));
    this.calls.fail(new PluginGone(this.plugin, death));
  }
}

const nowhere = { file: null, line: null };
const never = new AbortController().signal;

type MemoryOptions = {
  limitMb: number;
  /** Called once. */
  onOver: () => void;
};

const everyMs = 1_000;
const megabyte = 1024 * 1024;

/**
 * Watches the memory outside the heap, such as buffers, which Node's limit does not cover. Returns a function that
 * stops watching. Also works for a worker that is stuck in a loop.
 */
function watchMemory(worker: Worker, { limitMb, onOver }: MemoryOptions): () => void {
  let isAsking = false;
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    worker.getHeapStatistics().then(
      ({ external_memory: outside }) => {
        isAsking = false;
        if (outside <= limitMb * megabyte) return;
        clearInterval(timer);
        onOver();
      },
      // The worker is not up yet, or gone.
      () => {
        isAsking = false;
      },
    );
  }, everyMs).unref();
  return () => clearInterval(timer);
}
