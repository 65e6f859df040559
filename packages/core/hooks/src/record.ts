/**
 * Writes one line per hook call to `<plugin>.<hook>.jsonl`, for people to grep. Callers do not wait for the write, and
 * calls in quick succession share one write.
 */
import { appendFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { HookCallResult, HookEvent } from "@aegis/contract/hook.ts";
import { makePrivateDirsBelow } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { type Redact, redactedLine } from "@aegis/lib/redact.ts";

export type HookRecord = {
  ts: number;
  duration_ms: number;
  event: HookEvent;
  plugin: string;
  hook: string;
  strict: boolean;
  status: HookCallResult["status"];
  error?: string;
  stack?: string;
  session?: string;
};

export type HookLogOptions = {
  /** Created if it is missing, but not its parent folders: a deleted project must stay deleted. */
  dir: string;
  redact: Redact;
  log: Logger;
};

/** Short enough for a person who watches, long enough to collect a burst. */
const gatherMs = 100;
/** The maximum held in memory. A slow disk loses records but never exhausts memory. */
const mostGathered = 10_000;
const longestName = 200;

export class HookLog {
  readonly #options: HookLogOptions;
  #gathered: HookRecord[] = [];
  #timer: NodeJS.Timeout | null = null;
  #written: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(options: HookLogOptions) {
    this.#options = options;
  }

  add(record: HookRecord): void {
    if (this.#gathered.length >= mostGathered) return;
    this.#gathered.push(record);
    this.#timer ??= setTimeout(() => void this.flush(), gatherMs);
  }

  /** Resolves when all calls so far were written or failed to be written. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#written = this.#written.then(() => {
      const records = this.#gathered;
      this.#gathered = [];
      return this.#write(records);
    });
    return this.#written;
  }

  async #write(records: readonly HookRecord[]): Promise<void> {
    const { dir, redact, log } = this.#options;
    if (records.length === 0) return;
    try {
      await makePrivateDirsBelow(dirname(dir), basename(dir));
      for (const [file, lines] of Map.groupBy(records, fileOf)) {
        const text = lines.map((record) => redactedLine(record, redact)).join("");
        await appendFile(join(dir, file), text, { mode: 0o600 });
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) log.warn("hook calls could not be recorded", { dir, error: errorText(error) });
      this.#isFailing = true;
    }
  }
}

/** Plugin authors choose hook names, so a name must not lead out of the folder. */
function fileOf({ plugin, hook }: HookRecord): string {
  const name = `${plugin}.${hook}`.replace(/[^\w.@-]+/g, "_").replace(/^\.+/, "_");
  return `${name.slice(0, longestName)}.jsonl`;
}
