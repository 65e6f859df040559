/**
 * The context of a plugin's `_install.ts` and `_uninstall.ts`. Requested changes do not take effect while the script
 * runs: Aegis validates them immediately and applies them together with the plugin itself, or not at all.
 */

export interface InstallContext {
  /** `update` if an earlier version is being replaced. */
  readonly reason: "install" | "update" | "uninstall";
  /** The project's folder. */
  readonly projectRoot: string;
  /** The folder that contains `.aegis.yaml`: same as `projectRoot`. */
  readonly aegisDir: string;
  /** The plugin's files while the script runs. */
  readonly pluginDir: string;
  /** The plugin's folder after the installation. */
  readonly installedDir: string;
  readonly pluginName: string;
  /** The version before an update; otherwise null. */
  readonly previousVersion: string | null;
  /** True if the user wants the plugin's collected data to be deleted (`--purge`). Only set for an uninstall. */
  readonly purge: boolean;
  /** The parsed manifest with defaults. */
  readonly manifest: Readonly<Record<string, unknown>>;
  /** The project's configuration with defaults; secrets are masked. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly console: InstallConsole;
  /** Asks the user. Returns the default with `--yes`, or if no person can be asked. */
  confirm(question: string, options: { default: boolean }): Promise<boolean>;
  readonly edit: ConfigEdit;
  readonly scheduler: InstallScheduler;
  readonly files: InstallFiles;
}

export interface InstallConsole {
  log(text: string): void;
  warn(text: string): void;
}

/**
 * Edits `.aegis.yaml` and preserves its comments. Each method rejects if the resulting configuration would be invalid.
 * The uninstall removes what the install added, unless the user has changed it.
 */
export interface ConfigEdit {
  /** Returns false and changes nothing if the project already has an agent with that name. */
  addAgent(name: string, entry: Readonly<Record<string, unknown>>): Promise<boolean>;
  addQueue(name: string, entry: Readonly<Record<string, unknown>>): Promise<boolean>;
  /** Returns the current value in the files, or undefined if it is not set. */
  get(path: readonly string[]): Promise<unknown>;
  /** Sets a value that is not set yet. Returns false and changes nothing if the user has set one. */
  set(path: readonly string[], value: unknown): Promise<boolean>;
  /** Returns false if there was nothing to remove. */
  remove(path: readonly string[]): Promise<boolean>;
}

/** Schedules in their own files, `.aegis/schedules/<name>.yaml`. A running daemon applies them immediately. */
export interface InstallScheduler {
  /** Returns false and changes nothing if the project already has a schedule with that name. */
  writeAtomic(name: string, entry: Readonly<Record<string, unknown>>): Promise<boolean>;
  remove(name: string): Promise<boolean>;
}

/** Files of the project, by path relative to its folder. */
export interface InstallFiles {
  exists(path: string): Promise<boolean>;
  /** Returns null if the file does not exist. */
  read(path: string): Promise<string | null>;
  /** Creates a file and its parent folders. Returns false and changes nothing if the file exists. */
  create(path: string, text: string): Promise<boolean>;
  remove(path: string): Promise<boolean>;
}

/** The type of the exports `install` in `_install.ts` and `uninstall` in `_uninstall.ts`. */
export type InstallScript = (context: InstallContext) => void | Promise<void>;
