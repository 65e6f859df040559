/**
 * Reports when config files may have changed. It watches folders instead of files, because editors and Aegis replace
 * files by renaming. A notification is only a hint; the listener loads the files again.
 */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { isErrno, isInside, isUnreadable } from "@aegis/lib/files.ts";
import { localFileName, overlayFolder, overlaySections } from "./files.ts";

const claudeFolder = ".claude";
const agentFolder = "agents";

export type WatchOptions = {
  root: string;
  /** The user's home folder, whose agents also apply. */
  home?: string | undefined;
  onChange: () => void;
  signal: AbortSignal;
  /** How long the files must stay unchanged before a change is reported. */
  quietMs?: number;
  /** Called if a folder can no longer be watched, so that changes in it are missed. */
  onError?: (error: Error) => void;
};

export type ConfigWatch = {
  /** Sets additional files to watch, such as prompt files, and folders of agent files. Replaces the previous set. */
  follow(files: readonly string[], agentFolders?: readonly string[]): void;
};

/** Throws if the project folder cannot be watched. */
export function watchConfig(options: WatchOptions): ConfigWatch {
  return new Folders(options);
}

/** Selects the relevant names in a folder. */
type Matches = (name: string) => boolean;

class Folders implements ConfigWatch {
  readonly #options: WatchOptions;
  readonly #open = new Map<string, FSWatcher>();
  #followed: readonly string[] = [];
  #agentFolders: readonly string[] = [];
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

  follow(files: readonly string[], agentFolders: readonly string[] = []): void {
    this.#followed = files;
    this.#agentFolders = agentFolders;
    if (!this.#options.signal.aborted) this.#watchExisting();
  }

  /** The relevant names per folder. Overlay folders may be created long after the start. */
  #wanted(): Map<string, Matches> {
    const { root, home } = this.#options;
    const overlays = join(root, overlayFolder);
    const wanted = new Map<string, Matches>();
    const add = (folder: string, matches: Matches) => {
      const earlier = wanted.get(folder);
      wanted.set(folder, earlier === undefined ? matches : (name) => earlier(name) || matches(name));
    };
    // A name without a dot may be a folder of agent files.
    const isAgent = (name: string) => /^[^.](?:.*\.md|[^.]*)$/i.test(name);
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
    for (const folder of this.#agentFolders) add(folder, isAgent);
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
        if (isUnreadable(error)) continue;
        // Failing to watch a folder outside the project is not an error.
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
      // Watches a newly created folder before its files are read, so no change is missed.
      this.#renew(null);
      this.#options.onChange();
    }, this.#options.quietMs ?? 100);
  }

  /** A replaced folder keeps its name but loses its watcher. */
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
