/**
 * Strips the types of plugins' TypeScript before their workers need it, in one shared worker that stops when it is
 * idle. This is only an optimization: a plugin's worker can strip types itself.
 */
import { readFile, stat } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { strippedFile } from "../worker/strip.ts";
import type { StripRequest } from "../worker/strip-main.ts";
import { stripEntry } from "./entries.ts";

/** Loading the type stripper takes most of the time, so the worker stays for later files. */
const idleMs = 5_000;
const deadlineMs = 10_000;
const maxFiles = 2_000;

export class Stripper {
  readonly #waiting = new Map<number, () => void>();
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #last = 0;

  /** Resolves when the files are stripped or at the timeout. Never rejects. */
  async prepare(files: readonly string[], cacheDir: string): Promise<void> {
    const scripts = files.filter((file) => /\.[cm]?ts$/.test(file) && !/\.d\.[cm]?ts$/.test(file)).slice(0, maxFiles);
    const missing = await notKept(scripts, cacheDir);
    if (missing.length === 0) return;
    this.#last += 1;
    const id = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(id, resolve);
    const timer = setTimeout(resolve, deadlineMs);
    this.#start().postMessage({ id, files: missing, cacheDir } satisfies StripRequest);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(id);
    this.#rest();
  }

  close(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    void this.#worker?.terminate();
  }

  #start(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(stripEntry(), { name: "plugin types", env: {}, stdout: true, stderr: true });
    worker.unref();
    worker.on("message", (id: number) => this.#waiting.get(id)?.());
    worker.on("error", () => {});
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = null;
      for (const resolve of this.#waiting.values()) resolve();
    });
    this.#worker = worker;
    return worker;
  }

  #rest(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#waiting.size === 0) void this.#worker?.terminate();
    }, idleMs).unref();
  }
}

async function notKept(files: readonly string[], cacheDir: string): Promise<string[]> {
  const missing: string[] = [];
  for (const file of files) {
    const source = await readFile(file, "utf8").catch(() => null);
    if (source === null) continue;
    const isKept = await stat(strippedFile(source, cacheDir)).then(
      () => true,
      () => false,
    );
    if (!isKept) missing.push(file);
  }
  return missing;
}
