/** A child process that speaks JSON lines: strict framing, ordered writes, and one report of how it ended. */
import { LineTooLongError, lines } from "@aegis/lib/jsonl.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Child, Exit } from "@aegis/lib/process.ts";
import { isObject, type JsonFields, oneLine } from "./fields.ts";

export type JsonProcessHandlers = {
  message(value: JsonFields): void;
  /** A line that is not a JSON object. */
  noise(line: string): void;
  /** Null if the next line may be read; otherwise resolves when it may. Meanwhile the child blocks on its writes. */
  room?(): Promise<void> | null;
};

export type ProcessEnd = {
  exit: Exit;
  /** Why its output could not be read completely. */
  unreadable: string | null;
  stderr: string;
};

export class JsonProcess {
  readonly child: Child;
  /** Resolves after the last message was handled. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  #alive = true;

  constructor(child: Child, handlers: JsonProcessHandlers) {
    this.child = child;
    this.ended = this.#read(handlers);
  }

  get alive(): boolean {
    return this.#alive;
  }

  write(value: JsonFields): void {
    if (this.#alive) this.child.stdin.write(`${JSON.stringify(value)}\n`);
  }

  async #read(handlers: JsonProcessHandlers): Promise<ProcessEnd> {
    let unreadable: string | null = null;
    try {
      for await (const line of lines(this.child.stdout)) {
        this.#hand(line, handlers);
        const room = handlers.room?.() ?? null;
        // Backpressure has no effect on a process that has ended.
        if (room !== null) await Promise.race([room, this.child.exited]);
      }
    } catch (error) {
      unreadable = error instanceof LineTooLongError ? error.message : errorText(error);
      this.#alive = false;
      await this.child.stop();
    }
    const exit = await this.child.exited;
    this.#alive = false;
    return { exit, unreadable, stderr: this.child.stderrTail() };
  }

  #hand(line: string, handlers: JsonProcessHandlers): void {
    if (line.trim() === "") return;
    const value = parse(line);
    if (value === null) handlers.noise(line);
    else handlers.message(value);
  }
}

/** `code 1`, `signal SIGKILL`. */
function exitText(exit: Exit): string {
  return exit.signal === null ? `code ${exit.code ?? "unknown"}` : `signal ${exit.signal}`;
}

/** How a process ended, for a sentence that begins with its name. */
export function endText(end: ProcessEnd, noise: string | null): string {
  if (end.unreadable !== null) return `sent output that cannot be read (${end.unreadable})`;
  const said = noise === null ? "" : ` after printing "${oneLine(noise)}"`;
  return `ended with ${exitText(end.exit)}${said}`;
}

function parse(line: string): JsonFields | null {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
