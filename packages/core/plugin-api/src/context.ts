/** The context that plugin code receives. */

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Writes a line to the plugin's log, shown by `aegis plugin logs <name>`. Known secrets are redacted. */
export type PluginLog = (level: LogLevel, message: string) => void;

export type PluginContext<Config = Record<string, unknown>> = {
  /** The plugin's name. */
  readonly id: string;
  /** Its settings, validated against `config_schema`, with defaults and with the value of each `*_env` variable. */
  readonly config: Readonly<Config>;
  /** A private data folder that survives updates. It exists before any code of the plugin runs. */
  readonly dataDir: string;
  /** The plugin's own folder. */
  readonly pluginDir: string;
  readonly projectRoot: string;
  readonly log: PluginLog;
};

/** The context of a call that an agent made. */
export type CallContext<Config = Record<string, unknown>> = PluginContext<Config> & {
  /** The calling session. */
  readonly session: { readonly id: string; readonly handle: string };
  /** The session's agent. */
  readonly agent: string;
  /** Aborts when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
};
