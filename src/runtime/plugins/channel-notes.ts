/** Reports settings for channels that a plugin does not bring. */
import type { PluginDiagnostic } from "../../contract/plugin.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { channelSettings } from "./config.ts";
import type { Contributions } from "./protocol.ts";

export function channelNotes(plugin: string, settings: unknown, { channels }: Contributions): PluginDiagnostic[] {
  // Without channels, the key is a setting of the plugin's own.
  if (channels.length === 0 || settings === undefined) return [];
  const key = `plugins.${plugin}.${channelSettings}`;
  const note = (message: string): PluginDiagnostic => ({ level: "warning", file: null, line: null, message });
  if (typeof settings !== "object" || settings === null || Array.isArray(settings))
    return [note(`${key}: expected a map of channel names to their settings`)];
  const names = channels.map(({ name }) => name);
  return Object.keys(settings)
    .filter((name) => !names.includes(name))
    .map((name) => note(`${key}.${name}: the plugin brings no such channel${didYouMean(name, names)}`));
}
