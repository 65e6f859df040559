/** A plugin's log: redacted JSON lines, bounded, written in the background. */
import { appendFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@aegis/lib/clock.ts";
import { makePrivateDir } from "@aegis/lib/files.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { LogLevel } from "@aegis/plugin-api/context.ts";

export type PluginLogOptions = { dir: string; clock: Clock; redact: Redact };

/** The older half of the log is in `<name>.1.jsonl`. */
const maxBytes = 1024 * 1024;
/** The maximum of lines waiting for the disk. */
const maxWaiting = 2_000;

export function pluginLogFile(dir: string, plugin: string): string {
  return join(dir, `${plugin}.jsonl`);
}

export class PluginLogs {
  readonly #options: PluginLogOptions;
  readonly #waiting = new Map<string, string[]>();
  #writing: Promise<void> | null = null;

  constructor(options: PluginLogOptions) {
    this.#options = options;
  }

  add(plugin: string, level: LogLevel, text: string): void {
    const { clock, redact } = this.#options;
    const lines = this.#waiting.get(plugin) ?? [];
    if (lines.length >= maxWaiting) return;
    lines.push(`${JSON.stringify({ at: clock.now(), level, text: redact(text) })}\n`);
    this.#waiting.set(plugin, lines);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
  }

  /** Resolves when all logged lines are on disk. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  async #write(): Promise<void> {
    await makePrivateDir(this.#options.dir);
    while (this.#waiting.size > 0) {
      const [plugin, lines] = this.#waiting.entries().next().value as [string, string[]];
      this.#waiting.delete(plugin);
      const file = pluginLogFile(this.#options.dir, plugin);
      // A log write failure must not stop the plugin.
      await appendFile(file, lines.join(""), { mode: 0o600 }).catch(() => {});
      const size = await stat(file).then(
        (stats) => stats.size,
        () => 0,
      );
      if (size > maxBytes) await rename(file, file.replace(/\.jsonl$/, ".1.jsonl")).catch(() => {});
    }
  }
}
