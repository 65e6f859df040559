/**
 * Writes down each call of a tool: who, what, how it went. A call that may have changed something is on record before it is
 * answered. One that only looked is not waited for, and those that follow each other closely share one write: with a
 * write of its own each would cost more than most tools do.
 */
import type { Event } from "../contract/event.ts";
import type { Clock } from "../lib/clock.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { ToolCall } from "../runtime/registry/tools.ts";
import type { Store } from "../store/store.ts";

const longestText = 2_000;
/** How much of a text is searched for secrets: more than is kept, so that none is cut in two. */
const readText = 10 * longestText;
/** Short enough for anybody who watches, long enough for a burst: each write waits for the disk. */
const gatherMs = 250;

type Called = Extract<Event, { type: "tool.called" }>;
type CallEvent = Pick<Called, "type" | "session" | "data">;

export type ToolCallLogOptions = { store: Store; clock: Clock; log: Logger; redact: Redact };

export class ToolCallLog {
  readonly #options: ToolCallLogOptions;
  #gathered: CallEvent[] = [];
  #timer: NodeJS.Timeout | null = null;
  #written: Promise<void> = Promise.resolve();

  constructor(options: ToolCallLogOptions) {
    this.#options = options;
  }

  /** Resolves when the call may be answered. Never rejects: what a tool has done is not undone by a full disk. */
  add({ caller, tool, changes, input, outcome, durationMs }: ToolCall): Promise<void> | undefined {
    const data = {
      tool,
      outcome: outcome.is_error ? ("error" as const) : ("ok" as const),
      duration_ms: durationMs,
      input: this.#text(JSON.stringify(input ?? {})),
      error: outcome.is_error ? this.#text(outcome.output) : null,
    };
    this.#gathered.push({ type: "tool.called", session: caller.id, data });
    if (changes) return this.flush();
    this.#timer ??= setTimeout(() => void this.flush(), gatherMs);
    return undefined;
  }

  /** Resolves when every call so far is on record, or could not be written. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const records = this.#gathered;
    this.#gathered = [];
    if (records.length > 0) this.#written = Promise.all([this.#written, this.#write(records)]).then(() => {});
    return this.#written;
  }

  async #write(records: readonly CallEvent[]): Promise<void> {
    const { store, clock, log } = this.#options;
    try {
      await store.transact(async (tx) => {
        for (const record of records) await tx.events.append(record, clock.now());
      });
    } catch (error) {
      log.warn("calls of tools could not be recorded", { calls: records.length, error: errorText(error) });
    }
  }

  #text(text: string): string {
    const redacted = this.#options.redact(text.slice(0, readText));
    return text.length <= longestText ? redacted : `${redacted.slice(0, longestText)}… (${text.length} characters)`;
  }
}
