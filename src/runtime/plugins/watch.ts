/**
 * Tells when something in the folders of plugins may have changed. Folders are watched one by one, so that what a plugin
 * installs for itself is not; a call is only a hint, and whoever gets it looks for himself.
 */
import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

export type FolderWatchOptions = {
  onChange: () => void;
  /** How long the folders must be quiet before a change is told. */
  quietMs?: number;
  /** A folder can no longer be watched: changes in it go unseen. */
  onError: (error: Error) => void;
};

const defaultQuietMs = 200;
/** More would use up what the system grants to a user. */
const maxFolders = 2_000;

export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #open = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Replaces the folders watched before. For one that does not exist its nearest existing parent is watched. */
  follow(folders: readonly string[]): void {
    if (this.#closed) return;
    const wanted = new Set(folders.slice(0, maxFolders));
    for (const [folder, watcher] of this.#open) if (!wanted.has(folder)) this.#drop(folder, watcher);
    for (const folder of wanted) this.#watch(folder);
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const [folder, watcher] of this.#open) this.#drop(folder, watcher);
  }

  #watch(folder: string): void {
    if (this.#open.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false });
      this.#open.set(folder, watcher);
      watcher.on("change", (_, name) => this.#hint(String(name ?? "")));
      watcher.on("error", () => {
        this.#drop(folder, watcher);
        this.#hint("");
      });
    } catch (error) {
      if (isMissing(error) && dirname(folder) !== folder) this.#watch(dirname(folder));
      else this.#options.onError(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Editors write beside the file they save; those names are noise. */
  #hint(name: string): void {
    if (this.#closed || name.endsWith("~") || name.endsWith(".swp") || name === "4913") return;
    this.#timer?.refresh();
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#options.onChange();
    }, this.#options.quietMs ?? defaultQuietMs);
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#open.get(folder) === watcher) this.#open.delete(folder);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
