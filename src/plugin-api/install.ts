/**
 * What `_install.ts` and `_uninstall.ts` of a plugin are given. Nothing of it takes effect while the script runs: what
 * it asks for is checked at once and written together with the plugin itself, or not at all.
 */

export interface InstallContext {
  /** `update` when an earlier version is being replaced. */
  readonly reason: "install" | "update" | "uninstall";
  /** The project's folder. */
  readonly projectRoot: string;
  /** The folder that holds `.aegis.yaml`: the project's folder again. */
  readonly aegisDir: string;
  /** Where the plugin's files are while the script runs. */
  readonly pluginDir: string;
  /** Where they will be once the plugin is installed. */
  readonly installedDir: string;
  readonly pluginName: string;
  /** The version that was there before an update; null otherwise. */
  readonly previousVersion: string | null;
  /** The person wants what the plugin has gathered to go with it (`--purge`); false except when it is uninstalled. */
  readonly purge: boolean;
  /** The manifest, read and completed. */
  readonly manifest: Readonly<Record<string, unknown>>;
  /** The project's configuration with every default in place; secrets are masked. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly console: InstallConsole;
  /** Asks the person. The default is the answer when nobody can be asked, and with `--yes`. */
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
 * Changes to `.aegis.yaml` that keep its comments. Each rejects when the configuration would be wrong with it. What an
 * install adds here is taken away by the uninstall, as far as the user has not changed it.
 */
export interface ConfigEdit {
  /** False, and nothing is changed, when the project has an agent of that name already. */
  addAgent(name: string, entry: Readonly<Record<string, unknown>>): Promise<boolean>;
  addQueue(name: string, entry: Readonly<Record<string, unknown>>): Promise<boolean>;
  /** The value as the files say it now; undefined when they do not. */
  get(path: readonly string[]): Promise<unknown>;
  /** Sets a value that is not there yet. False, and nothing is changed, when the user has one. */
  set(path: readonly string[], value: unknown): Promise<boolean>;
  /** False when there was nothing to remove. */
  remove(path: readonly string[]): Promise<boolean>;
}

/** Schedules in files of their own, `.aegis/schedules/<name>.yaml`, which a running daemon takes up at once. */
export interface InstallScheduler {
  /** False, and nothing is changed, when the project has a schedule of that name already. */
  writeAtomic(name: string, entry: Readonly<Record<string, unknown>>): Promise<boolean>;
  remove(name: string): Promise<boolean>;
}

/** Files of the project, by path relative to its folder. */
export interface InstallFiles {
  exists(path: string): Promise<boolean>;
  /** Null when there is no such file. */
  read(path: string): Promise<string | null>;
  /** Makes a file with the folders above it. False, and nothing is changed, when there is one already. */
  create(path: string, text: string): Promise<boolean>;
  remove(path: string): Promise<boolean>;
}

/** What `_install.ts` exports as `install`, and `_uninstall.ts` as `uninstall`. */
export type InstallScript = (context: InstallContext) => void | Promise<void>;
