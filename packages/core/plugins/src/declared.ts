/**
 * Remembers what a plugin's code declared when it was last loaded: hooks, tools, workflows and so on. At the next start
 * Aegis registers these parts immediately, and the worker starts in the background. The record is only valid for the
 * same files, settings, environment and version of Aegis, and the worker must confirm it before the first call.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { type Contributions, fromWorker } from "./protocol.ts";

export type DeclaredOptions = {
  /** Outside of the project, because the record decides which gates exist until the worker has started. */
  dir: string;
  log: Logger;
};

export class DeclaredParts {
  readonly #options: DeclaredOptions;

  constructor(options: DeclaredOptions) {
    this.#options = options;
  }

  /** Null if there is no record for exactly these inputs. */
  async find(place: string, inputs: string): Promise<Contributions | null> {
    try {
      const record: unknown = JSON.parse(await readFile(this.#path(place), "utf8"));
      if (typeof record !== "object" || record === null || !("inputs" in record) || record.inputs !== inputs)
        return null;
      const message = fromWorker({ ...record, type: "loaded" });
      return message?.type === "loaded" ? message.contributions : null;
    } catch {
      // A missing or damaged record only means that the plugin is loaded first.
      return null;
    }
  }

  /** Never rejects: without a record the next start is slower. Declarations that contain a secret are not recorded. */
  async keep(place: string, inputs: string, contributions: Contributions, secrets: readonly string[]): Promise<void> {
    const text = JSON.stringify({ inputs, contributions });
    if (secrets.some((secret) => text.includes(JSON.stringify(secret).slice(1, -1)))) return;
    try {
      await makePrivateDir(this.#options.dir);
      await writeAtomic(this.#path(place), text, { mode: 0o600 });
    } catch (error) {
      this.#options.log.warn("the declarations of a plugin could not be cached", { place, error: errorText(error) });
    }
  }

  /** One record for each place, so that records do not accumulate. */
  #path(place: string): string {
    return join(this.#options.dir, `${createHash("sha256").update(place).digest("hex")}.json`);
  }
}
