/**
 * Records each tool call: caller, tool and outcome. A call that may have changed something is recorded before it is
 * answered. Read-only calls do not wait for the write, and calls in quick succession share one write, because a
 * separate write would cost more than most tools do.
 */
import type { Event } from "@aegis/contract/event.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { ToolCall } from "@aegis/sessions/tools/tools.ts";
import type { Store } from "@aegis/store/store.ts";

const longestText = 2_000;
/** How much of a text is searched for secrets. More than is kept, so that no secret is cut in two. */
const readText = 10 * longestText;
/** Batches writes: short enough for a live view, long enough for a burst. Each write waits for the disk. */
const gatherMs = 250;

type Called = Extract<Event, { type: "tool.called" }>;
type Outcome = Called["data"]["outcome"];
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

  /** Resolves when the call may be answered. Never rejects, because a full disk does not undo what the tool did. */
  add({ caller, tool, changes, input, outcome, durationMs }: ToolCall): Promise<void> | undefined {
    const data = {
      tool,
      outcome: outcomeOf(outcome),
      duration_ms: durationMs,
      input: this.#text(JSON.stringify(input ?? {})),
      error: outcome.is_error ? this.#text(outcome.output) : null,
    };
    this.#gathered.push({ type: "tool.called", session: caller.id, data });
    if (changes) return this.flush();
    this.#timer ??= setTimeout(() => void this.flush(), gatherMs);
    return undefined;
  }

  /** Resolves when every call so far is recorded or has failed to be recorded. */
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
      log.warn("tool calls could not be recorded", { calls: records.length, error: errorText(error) });
    }
  }

  #text(text: string): string {
    const redacted = this.#options.redact(text.slice(0, readText));
    return text.length <= longestText ? redacted : `${redacted.slice(0, longestText)}… (${text.length} characters)`;
  }
}

function outcomeOf({ is_error, timed_out }: ToolCall["outcome"]): Outcome {
  if (timed_out === true) return "timeout";
  return is_error ? "error" : "ok";
}
