/**
 * Tells when the config files may have changed. Folders are watched, not files, because editors and Aegis itself
 * replace a file by renaming another one over it. A call is only a hint: whoever gets it loads the files again.
 */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { configFileName } from "../../lib/daemon-file.ts";
import { isErrno, isInside } from "../../lib/files.ts";
import { localFileName, overlayFolder, overlaySections } from "./files.ts";

const claudeFolder = ".claude";
const agentFolder = "agents";

export type WatchOptions = {
  root: string;
  /** The user's own folder, whose agents count too. */
  home?: string | undefined;
  onChange: () => void;
  signal: AbortSignal;
  /** How long the files must be quiet before a change is told. */
  quietMs?: number;
  /** A folder can no longer be watched: changes in it go unseen. */
  onError?: (error: Error) => void;
};

export type ConfigWatch = {
  /** Other files to watch from now on, such as prompt files; replaces those given before. */
  follow(files: readonly string[]): void;
};

/** Throws when the project's folder cannot be watched. */
export function watchConfig(options: WatchOptions): ConfigWatch {
  return new Folders(options);
}

/** True for the names in a folder that matter. */
type Matches = (name: string) => boolean;

class Folders implements ConfigWatch {
  readonly #options: WatchOptions;
  readonly #open = new Map<string, FSWatcher>();
  #followed: readonly string[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
    if (options.signal.aborted) return;
    options.signal.addEventListener("abort", () => this.#close(), { once: true });
    try {
      this.#watch(options.root);
      this.#watchExisting();
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  follow(files: readonly string[]): void {
    this.#followed = files;
    if (!this.#options.signal.aborted) this.#watchExisting();
  }

  /** The names that matter, folder by folder. The first overlay may come long after the start. */
  #wanted(): Map<string, Matches> {
    const { root, home } = this.#options;
    const overlays = join(root, overlayFolder);
    const wanted = new Map<string, Matches>();
    const add = (folder: string, matches: Matches) => {
      const earlier = wanted.get(folder);
      wanted.set(folder, earlier === undefined ? matches : (name) => earlier(name) || matches(name));
    };
    const isAgent = (name: string) => /^[^.].*\.md$/.test(name);
    add(root, (name) => [configFileName, localFileName, overlayFolder, claudeFolder].includes(name));
    add(overlays, (name) => overlaySections.some((section) => section === name));
    for (const section of overlaySections) add(join(overlays, section), (name) => /^[^.].*\.ya?ml$/.test(name));
    add(join(root, claudeFolder), (name) => name === agentFolder);
    for (const folder of [overlays, join(root, claudeFolder)]) add(join(folder, agentFolder), isAgent);
    if (home !== undefined) {
      add(home, (name) => name === overlayFolder);
      add(join(home, overlayFolder), (name) => name === agentFolder);
      add(join(home, overlayFolder, agentFolder), isAgent);
    }
    for (const file of this.#followed) add(dirname(file), (name) => name === basename(file));
    return wanted;
  }

  #watchExisting(): void {
    const wanted = this.#wanted();
    for (const [folder, watcher] of this.#open) if (!wanted.has(folder)) this.#drop(folder, watcher);
    for (const folder of wanted.keys()) {
      try {
        if (!this.#open.has(folder)) this.#watch(folder);
      } catch (error) {
        if (isErrno(error, "ENOENT", "ENOTDIR")) continue;
        // What lies outside the project is not ours to insist on.
        if (isInside(this.#options.root, folder)) throw error;
        this.#options.onError?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  #watch(folder: string): void {
    const watcher = watch(folder, { persistent: false });
    this.#open.set(folder, watcher);
    watcher.on("change", (event, name) => this.#onEvent(folder, event, name === null ? null : String(name)));
    watcher.on("error", (error) => {
      this.#drop(folder, watcher);
      if (folder === this.#options.root || !isErrno(error, "ENOENT", "EPERM")) this.#options.onError?.(error);
    });
  }

  #onEvent(folder: string, event: string, name: string | null): void {
    if (name !== null && this.#wanted().get(folder)?.(name) !== true) return;
    if (event === "rename") this.#renew(name === null ? null : join(folder, name));
    this.#timer?.refresh();
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      // A folder made while we waited is watched before its files are read, so nothing falls in between.
      this.#renew(null);
      this.#options.onChange();
    }, this.#options.quietMs ?? 100);
  }

  /** A folder that was replaced keeps its name but not its watcher. */
  #renew(replaced: string | null): void {
    for (const [folder, watcher] of this.#open)
      if (replaced !== null && (folder === replaced || dirname(folder) === replaced)) this.#drop(folder, watcher);
    try {
      this.#watchExisting();
    } catch (error) {
      this.#options.onError?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#open.get(folder) === watcher) this.#open.delete(folder);
  }

  #close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const [folder, watcher] of this.#open) this.#drop(folder, watcher);
  }
}
