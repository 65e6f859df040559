/** A plugin's worker as the daemon sees it: started, called, watched, ended. One that stops answering is ended. */
import { Worker } from "node:worker_threads";
import type { Contributions, LogLevel, Outcome, ToWorker, WorkerCall, WorkerStart } from "../protocol.ts";
import { fromWorker } from "../protocol.ts";
import { workerEntry } from "./entries.ts";
import { crashOf, type Death, PluginGone, PluginLoadError, wireMessage } from "./errors.ts";
import { watchMemory } from "./memory.ts";
import { type CallOptions, OpenCalls } from "./open-calls.ts";
import { Pulse } from "./pulse.ts";

export type WorkerLimits = {
  /** What its heap may grow to. */
  memoryMb: number;
  /** How long loading its modules may take. */
  loadMs: number;
  /** How long it may be busy without answering while somebody waits for it. */
  unresponsiveMs: number;
};

export const defaultWorkerLimits: WorkerLimits = { memoryMb: 256, loadMs: 10_000, unresponsiveMs: 15_000 };

export type WorkerOptions = {
  start: WorkerStart;
  env: Record<string, string>;
  limits: WorkerLimits;
  log: (level: LogLevel, text: string) => void;
};

/** Once a call is late, its worker has this long to show that it still runs. */
const lateMs = 1_000;

export class PluginWorker {
  readonly ended: Promise<Death>;
  readonly #options: WorkerOptions;
  readonly #worker: Worker;
  readonly #calls: OpenCalls;
  readonly #loaded = Promise.withResolvers<Contributions>();
  readonly #end = Promise.withResolvers<Death>();
  #death: Death | null = null;
  readonly #pulse: Pulse;
  readonly #unwatch: () => void;

  /** Throws `PluginLoadError` when the modules cannot be loaded; nothing runs then. */
  static async start(options: WorkerOptions): Promise<{ worker: PluginWorker; contributions: Contributions }> {
    const worker = new PluginWorker(options);
    const { loadMs } = options.limits;
    const timer = setTimeout(() => {
      worker.#fail(new PluginLoadError(`its modules did not load within ${loadMs / 1000} s`, nowhere));
    }, loadMs);
    try {
      return { worker, contributions: await worker.#loaded.promise };
    } catch (error) {
      await worker.terminate("it could not be loaded");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private constructor(options: WorkerOptions) {
    this.#options = options;
    this.ended = this.#end.promise;
    this.#loaded.promise.catch(() => {});
    const { memoryMb } = options.limits;
    this.#worker = new Worker(workerEntry(), {
      name: `plugin ${options.start.plugin}`,
      workerData: options.start,
      env: options.env,
      execArgv: ["--disable-warning=ExperimentalWarning"],
      stdout: true,
      stderr: true,
      trackUnmanagedFds: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, stackSizeMb: 4 },
    });
    // What comes this way was written around the capture in the worker, by Node itself.
    for (const stream of [this.#worker.stdout, this.#worker.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => options.log("warn", text.trimEnd()));
    this.#pulse = new Pulse({
      limitMs: options.limits.unresponsiveMs,
      isBusy: () => this.#calls.count > 0,
      ping: (id) => this.#post({ type: "ping", id }),
      onStuck: (ms) => {
        const seconds = Math.max(1, Math.round(ms / 1000));
        void this.terminate(`it did not answer for ${seconds} s and was ended (an endless loop?)`, "stuck");
      },
    });
    this.#calls = new OpenCalls({
      post: (message) => this.#post(message),
      onBegin: () => this.#pulse.watch(),
      // A worker that is stuck, and not only slow, is found out.
      onGiveUp: () => this.#pulse.demand(lateMs),
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

  /** Settled once it is known whether the worker still runs; null while nobody doubts it. */
  get doubt(): Promise<void> | null {
    return this.#pulse.doubt;
  }

  /** Calls under way. */
  get busy(): number {
    return this.#calls.count;
  }

  /** Steps of runs that are being performed, also of runs that were let go. */
  get performing(): number {
    return this.#calls.performing;
  }

  /** Rejects with what the plugin threw, `timeout`, the signal's reason, or `PluginGone`. */
  call(call: WorkerCall, options: CallOptions): Promise<unknown> {
    return this.open(call, options).result;
  }

  /** The same, for who has more to say about the call. */
  open(call: WorkerCall, options: CallOptions): { id: number; result: Promise<unknown> } {
    return this.#calls.begin(call, options);
  }

  /** Runs the function that a request brought. */
  perform(request: number, value: unknown): Promise<unknown> {
    return this.#calls.perform(request, value);
  }

  answer(request: number, outcome: Outcome): void {
    this.#calls.answer(request, outcome);
  }

  cut(message: Extract<ToWorker, { type: "cut" }>): void {
    this.#post(message);
  }

  /** Ends it now. Calls under way fail with `PluginGone`. */
  async terminate(message: string, why: Death["why"] = "closed"): Promise<void> {
    this.#dies({ why, message, stack: null });
    await this.#worker.terminate();
  }

  #post(message: ToWorker): void {
    if (this.#death === null) this.#worker.postMessage(message);
  }

  #take(value: unknown): void {
    const message = fromWorker(value);
    if (message === null) {
      this.#options.log("warn", "the plugin sent its own messages over the worker's port; they are ignored");
      return;
    }
    switch (message.type) {
      case "loaded":
        this.#loaded.resolve(message.contributions);
        break;
      case "broken":
        this.#fail(new PluginLoadError(wireMessage(message.error), message));
        break;
      case "pong":
        this.#pulse.heard(message.id);
        break;
      case "log":
        this.#options.log(message.level, message.text);
        break;
      default:
        this.#calls.take(message);
    }
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
    this.#dies({ why: "exit", message: `its worker exited with code ${code} (process.exit?)`, stack: null });
    this.#end.resolve(this.#death as Death);
  }

  #dies(death: Death): void {
    if (this.#death !== null) return;
    this.#death = death;
    this.#pulse.stop();
    this.#unwatch();
    this.#fail(new PluginLoadError(death.message, nowhere));
    this.#calls.fail(new PluginGone(this.plugin, death));
  }
}

const nowhere = { file: null, line: null };
