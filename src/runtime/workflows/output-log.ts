/** Streams what a command writes into the events of its run, in pieces worth an event each. */
import type { RunContext } from "../../engine/engine.ts";
import { errorText } from "../../lib/log.ts";
import type { WorkflowDeps } from "./deps.ts";

const pieceCharacters = 8 * 1024;
const everyMs = 200;
/** More than this of one command is not for reading. */
const mostCharacters = 256 * 1024;

type Stream = "stdout" | "stderr";

export class OutputLog {
  readonly #context: RunContext;
  readonly #deps: WorkflowDeps;
  readonly #label: string;
  #waiting: { stream: Stream; text: string } | null = null;
  #written = 0;
  #timer: AbortController | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: RunContext, deps: WorkflowDeps, label: string) {
    this.#context = context;
    this.#deps = deps;
    this.#label = label.trim().split("\n", 1)[0]?.slice(0, 120) ?? "";
  }

  push(stream: Stream, text: string): void {
    if (text === "" || this.#written >= mostCharacters) return;
    if (this.#waiting && this.#waiting.stream !== stream) this.#write();
    this.#waiting = { stream, text: (this.#waiting?.text ?? "") + text };
    if (this.#waiting.text.length >= pieceCharacters) this.#write();
    else this.#writeSoon();
  }

  async flush(): Promise<void> {
    this.#write();
    await this.#last;
  }

  #writeSoon(): void {
    if (this.#timer) return;
    const timer = new AbortController();
    this.#timer = timer;
    this.#deps.clock.sleep(everyMs, timer.signal).then(
      () => this.#write(),
      () => {},
    );
  }

  #write(): void {
    this.#timer?.abort();
    this.#timer = null;
    const waiting = this.#waiting;
    this.#waiting = null;
    if (!waiting) return;
    const { store, clock, log } = this.#deps;
    const { id: run, workflow } = this.#context.run;
    const room = mostCharacters - this.#written;
    this.#written += waiting.text.length;
    const text =
      waiting.text.length <= room ? waiting.text : `${waiting.text.slice(0, room)}\n[… the rest is not shown …]`;
    const data = { run, workflow, label: this.#label, stream: waiting.stream, text };
    this.#last = store
      .transact((tx) => tx.events.append({ type: "run.output", session: null, data }, clock.now()))
      .catch((error: unknown) => log.warn("a command's output could not be shown", { run, error: errorText(error) }));
  }
}
