/** What the code of a plugin can reach while it runs. */

export type LogLevel = "debug" | "info" | "warn" | "error";

/** A line in the plugin's own log: `aegis plugin logs <name>`. Known secrets are taken out of it. */
export type PluginLog = (level: LogLevel, message: string) => void;

export type PluginContext<Config = Record<string, unknown>> = {
  /** The plugin's name. */
  readonly id: string;
  /** Its settings: checked against `config_schema`, with defaults, and with the value of each `*_env` variable. */
  readonly config: Readonly<Config>;
  /** A folder of its own that stays over updates. It is there before any code of the plugin runs. */
  readonly dataDir: string;
  /** The plugin's own folder. */
  readonly pluginDir: string;
  readonly projectRoot: string;
  readonly log: PluginLog;
};

/** Where a call comes from that an agent made. */
export type CallContext<Config = Record<string, unknown>> = PluginContext<Config> & {
  /** The session that calls. */
  readonly session: { readonly id: string; readonly handle: string };
  /** The agent it runs. */
  readonly agent: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
};
