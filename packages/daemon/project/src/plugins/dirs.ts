/** The folders in which Aegis looks for plugins. */

import { isAbsolute, join, resolve } from "node:path";
import { isRecord } from "@aegis/lib/is-record.ts";

/** The configured folders of the project, then the user's own. */
export function pluginDirs(root: string, home: string, dirs: readonly string[]): string[] {
  const named = dirs.map((dir) => (isAbsolute(dir) ? dir : resolve(root, dir.replace(/^~(?=\/|$)/, home))));
  return [...new Set([...named, join(home, ".aegis", "plugins")])];
}

/** The settings of one plugin under `plugins`. */
export function pluginValues(plugins: unknown, name: string): Readonly<Record<string, unknown>> {
  return isRecord(plugins) && isRecord(plugins[name]) ? { ...plugins[name] } : {};
}
