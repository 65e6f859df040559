/** Streams a command's output into the events of its run, in chunks of a reasonable size. */
import type { RunContext } from "@aegis/engine/engine.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { RedactedStream } from "@aegis/lib/redact.ts";
import type { WorkflowDeps } from "./deps.ts";

const pieceCharacters = 8 * 1024;
const everyMs = 200;
/** More output of one command is not useful to readers. */
const mostCharacters = 256 * 1024;

type Stream = "stdout" | "stderr";

export class OutputLog {
  readonly #context: RunContext;
  readonly #deps: WorkflowDeps;
  readonly #label: string;
  readonly #clean: Readonly<Record<Stream, RedactedStream>>;
  #waiting: { stream: Stream; text: string } | null = null;
  #written = 0;
  #timer: AbortController | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: RunContext, deps: WorkflowDeps, label: string) {
    this.#context = context;
    this.#deps = deps;
    this.#clean = { stdout: deps.redactedStream(), stderr: deps.redactedStream() };
    this.#label = label.trim().split("\n", 1)[0]?.slice(0, 120) ?? "";
  }

  push(stream: Stream, text: string): void {
    this.#add(stream, this.#clean[stream].push(text));
  }

  async flush(): Promise<void> {
    for (const stream of ["stdout", "stderr"] as const) this.#add(stream, this.#clean[stream].flush());
    this.#write();
    await this.#last;
  }

  #add(stream: Stream, text: string): void {
    if (text === "" || this.#written >= mostCharacters) return;
    if (this.#waiting && this.#waiting.stream !== stream) this.#write();
    this.#waiting = { stream, text: (this.#waiting?.text ?? "") + text };
    if (this.#waiting.text.length >= pieceCharacters) this.#write();
    else this.#writeSoon();
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
