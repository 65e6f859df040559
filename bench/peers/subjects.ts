/** Starts a subject and talks with it. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Order, Report, Setup } from "./peer.ts";

export type Done = Extract<Report, { told: "done" }>;

export class Subject {
  readonly #child: ChildProcess;
  readonly #signal: AbortSignal;
  readonly #reports: Report[] = [];
  readonly #waiting = new Set<() => void>();
  #exited = false;
  #stderr = "";

  constructor(setup: Setup, signal: AbortSignal) {
    signal.throwIfAborted();
    this.#signal = signal;
    const file = fileURLToPath(new URL("subject.ts", import.meta.url));
    this.#child = fork(file, [JSON.stringify(setup)], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = `${this.#stderr}${chunk}`.slice(-4_000);
    });
    this.#child.on("message", (report: Report) => {
      this.#reports.push(report);
      this.#wake();
    });
    const end = () => this.#child.kill("SIGKILL");
    signal.addEventListener("abort", end, { once: true });
    this.#child.on("exit", () => {
      signal.removeEventListener("abort", end);
      this.#exited = true;
      this.#wake();
    });
  }

  get reports(): readonly Report[] {
    return this.#reports;
  }

  tell(order: Order): void {
    this.#child.send(order);
  }

  /** The first report of that kind. Rejects when the subject fails or is gone. */
  async heard<T extends Report["told"]>(told: T): Promise<Extract<Report, { told: T }>> {
    while (true) {
      this.#signal.throwIfAborted();
      const failed = this.#reports.find((report) => report.told === "failed");
      if (failed) throw new Error(failed.error);
      const found = this.#reports.find((report) => report.told === told);
      if (found) return found as Extract<Report, { told: T }>;
      if (this.#exited) throw new Error(`the subject is gone: ${this.#stderr}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  async obey(order: Order): Promise<Done> {
    await this.heard("open");
    this.tell(order);
    return this.heard("done");
  }

  async kill(): Promise<void> {
    if (this.#exited) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
