/** What happened to a plugin, for the event log. */
export type PluginNews =
  | { type: "plugin.loaded" | "plugin.reloaded"; plugin: string; version: string; generation: number }
  | { type: "plugin.failed"; plugin: string; reason: string; running: boolean }
  | { type: "plugin.restarting"; plugin: string; reason: string }
  | { type: "plugin.restored" | "plugin.removed"; plugin: string };
