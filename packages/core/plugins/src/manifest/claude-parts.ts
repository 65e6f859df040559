/**
 * Finds the parts of a Claude Code plugin that have no effect in Aegis and reports each one, so that users do not rely
 * on it.
 */

import { readFile, stat } from "node:fs/promises";
import type { UnsupportedPart } from "@aegis/contract/plugin.ts";
import { contentPath } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";

export const unsupportedReasons = {
  hooks: "Aegis does not run Claude Code hooks; nothing that they check or block is checked or blocked",
  mcp: "Aegis does not start MCP servers of plugins, so agents do not have their tools",
  lsp: "Aegis does not start language servers",
  styles: "Aegis does not support output styles",
  themes: "Aegis does not support themes",
  monitors: "Aegis does not start monitors",
  settings: "Aegis does not take Claude Code settings from plugins",
  bin: "Aegis does not put programs of plugins on the PATH of agents",
} as const;

/** The default places of Claude Code, and the keys under which the file lists its parts. */
const places: readonly { path: string; reason: string; list?: string }[] = [
  { path: "hooks/hooks.json", reason: unsupportedReasons.hooks, list: "hooks" },
  { path: ".mcp.json", reason: unsupportedReasons.mcp, list: "mcpServers" },
  { path: ".lsp.json", reason: unsupportedReasons.lsp },
  { path: "output-styles", reason: unsupportedReasons.styles },
  { path: "themes", reason: unsupportedReasons.themes },
  { path: "monitors/monitors.json", reason: unsupportedReasons.monitors },
  { path: "settings.json", reason: unsupportedReasons.settings },
  { path: "bin", reason: unsupportedReasons.bin },
];
/** A larger file is reported without its content. */
const maxRead = 256 * 1024;
const mostNamed = 8;

/** Never throws because of the folder's content. */
export async function claudeParts(dir: string): Promise<UnsupportedPart[]> {
  const found = await Promise.all(
    places.map(async ({ path, reason, list }) => {
      const file = await contentPath(dir, path).catch(() => null);
      const stats = file === null ? null : await stat(file).catch(() => null);
      if (file === null || stats === null) return [];
      const names = list === undefined || stats.size > maxRead ? [] : await namesIn(file, list);
      return [{ part: path, reason: names.length === 0 ? reason : `${reason} (${listed(names)})` }];
    }),
  );
  return found.flat();
}

/** The events of hooks or the names of servers, below `key` or at the top of the file. */
async function namesIn(file: string, key: string): Promise<string[]> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    if (!isRecord(value)) return [];
    const inner = value[key];
    return Object.keys(isRecord(inner) ? inner : value);
  } catch {
    return [];
  }
}

function listed(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return [...names.slice(0, mostNamed), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
