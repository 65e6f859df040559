/**
 * Reports when something in plugin folders may have changed. Folders are watched one by one, to exclude what a plugin
 * installs for itself. A notification is only a hint; the listener checks the files itself.
 */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isErrno, isInside } from "@aegis/lib/files.ts";

export type FolderWatchOptions = {
  onChange: () => void;
  /** How long the folders must stay unchanged before a change is reported. */
  quietMs?: number;
  /** Called if a folder can no longer be watched, so that changes in it are missed. */
  onError: (error: Error) => void;
};

const defaultQuietMs = 200;
/** More would exhaust the system's per-user limit. */
const maxFolders = 2_000;

export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #open = new Map<string, FSWatcher>();
  /** Watched folder → the watcher of one of its parents. */
  readonly #above = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | null = null;
  #isFollowing = false;
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Replaces the watched folders. Waits for a folder that does not exist yet. */
  follow(folders: readonly string[]): void {
    if (this.#closed) return;
    const wanted = new Set(folders.slice(0, maxFolders));
    for (const [folder, watcher] of this.#open) if (!wanted.has(folder)) this.#drop(folder, watcher);
    for (const [folder, watcher] of this.#above) {
      watcher.close();
      this.#above.delete(folder);
    }
    const before = new Set(this.#open.keys());
    for (const folder of wanted) {
      this.#watch(folder);
      // Moving a folder away triggers only the watcher of its parent.
      if (!wanted.has(dirname(folder))) this.#watchAbove(folder, folder);
    }
    // Checks once more for changes between finding a new folder and watching it.
    if (this.#isFollowing && [...this.#open.keys()].some((folder) => !before.has(folder))) this.#hint("");
    this.#isFollowing = true;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const watcher of this.#above.values()) watcher.close();
    for (const [folder, watcher] of this.#open) this.#drop(folder, watcher);
  }

  #watch(folder: string): void {
    if (this.#open.has(folder)) return;
    const watcher = this.#start(folder, (event, name) => {
      if (event === "rename") this.#renew(join(folder, name));
      this.#hint(name);
    });
    if (watcher === null) return;
    this.#open.set(folder, watcher);
    watcher.on("error", () => {
      this.#drop(folder, watcher);
      this.#hint("");
    });
  }

  /** Watches the nearest existing parent for the one name that leads to the folder. */
  #watchAbove(wanted: string, path: string): void {
    const above = dirname(path);
    if (above === path) return;
    const only = basename(path);
    const watcher = this.#start(above, (event, name) => {
      if (name !== only || event !== "rename") return;
      this.#renew(wanted);
      this.#hint(name);
    });
    if (watcher === null) this.#watchAbove(wanted, above);
    else
      this.#above.set(
        wanted,
        watcher.on("error", () => this.#hint("")),
      );
  }

  /** Null if the folder does not exist. */
  #start(folder: string, onChange: (event: string, name: string) => void): FSWatcher | null {
    try {
      const watcher = watch(folder, { persistent: false });
      return watcher.on("change", (event, name) => onChange(event, String(name ?? "")));
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR"))
        this.#options.onError(error instanceof Error ? error : new Error(String(error)));
      return null;
    }
  }

  /** A replaced folder keeps its name but loses its watcher; the next `follow` opens another. */
  #renew(path: string): void {
    for (const [folder, watcher] of this.#open) if (isInside(path, folder)) this.#drop(folder, watcher);
  }

  /** Ignores the temporary files that editors write beside the saved file. */
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
