/**
 * Reads the agents that a plugin's manifest lists. Each entry names a prompt file and can set every field of an agent
 * file; the entry overrides the file. A bad entry disables only that entry.
 */

import { isAbsolute } from "node:path";
import type { AgentDiagnostic, AgentProfile } from "@aegis/contract/agent.ts";
import { containedPath } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { errorText } from "@aegis/lib/log.ts";
import { describe } from "./fields.ts";
import { type AgentOrigin, pageDiagnostics, parseAgentFields, readAgentPage, synonyms } from "./parse.ts";
import { agentSlug } from "./slug.ts";

export type PluginAgentsOptions = {
  plugin: string;
  /** The plugin's folder. Prompt files must lie inside it after links are resolved. */
  root: string;
  /** The parsed `agents` of the manifest. */
  entries: unknown;
  /** Returns the text of a file. Throws if it cannot be read. */
  read: (path: string) => Promise<string>;
};

export type PluginAgents = { profiles: AgentProfile[]; diagnostics: AgentDiagnostic[] };

/** Entries beyond this limit are refused. */
export const maxPluginAgents = 200;

type Fields = Readonly<Record<string, unknown>>;

/** Never throws because of the content of the manifest or files. */
export async function readPluginAgents(options: PluginAgentsOptions): Promise<PluginAgents> {
  const { plugin, entries } = options;
  const result: PluginAgents = { profiles: [], diagnostics: [] };
  const complain = (level: AgentDiagnostic["level"], agent: string | null, file: string | null, message: string) =>
    result.diagnostics.push({ level, agent, plugin, file, line: null, message });
  if (entries === undefined || entries === null) return result;
  if (!Array.isArray(entries)) {
    complain("error", null, null, `agents: expected a list, found ${describe(entries)}`);
    return result;
  }
  if (entries.length > maxPluginAgents)
    complain("error", null, null, `agents: expected at most ${maxPluginAgents}, found ${entries.length}`);
  const seen = new Set<string>();
  for (const [index, entry] of entries.slice(0, maxPluginAgents).entries()) {
    const name = isRecord(entry) && typeof entry.name === "string" ? entry.name : `#${index + 1}`;
    if (!isRecord(entry)) {
      complain("error", name, null, `expected a map with name and system_prompt_file, found ${describe(entry)}`);
      continue;
    }
    const slug = agentSlug(name);
    if (slug !== null && seen.has(slug)) {
      complain("warning", name, null, `the plugin lists "${name}" twice; the first one counts`);
      continue;
    }
    const { profile, diagnostics } = await readEntry(options, name, entry);
    result.diagnostics.push(...diagnostics);
    if (profile === null) continue;
    seen.add(profile.slug);
    result.profiles.push(profile);
  }
  return result;
}

/** Merges the manifest's fields over the file's. Zero and an empty list are values; empty text is not. */
export function mergeFields(entry: Fields, file: Fields): Fields {
  const { system_prompt_file: _, ...own } = entry;
  const said = Object.entries(own).filter(([, value]) => value !== undefined && value !== null && value !== "");
  // A synonym counts as the same field.
  const ruled = new Set(said.flatMap(([key]) => synonyms.find((names) => names.includes(key)) ?? [key]));
  const left = Object.entries(file).filter(([key]) => !ruled.has(key));
  return Object.fromEntries([...left, ...said]);
}

async function readEntry({ plugin, root, read }: PluginAgentsOptions, name: string, entry: Fields) {
  const named = entry.system_prompt_file;
  const refuse = (message: string, file: string | null, line: number | null = null) => ({
    profile: null,
    diagnostics: [{ level: "error", agent: name, plugin, file, line, message } satisfies AgentDiagnostic],
  });
  if (entry.name === undefined || entry.name === null || entry.name === "")
    return refuse("name: expected the name of the agent, found nothing", typeof named === "string" ? named : null);
  if (typeof named !== "string" || named === "")
    return refuse(`system_prompt_file: expected the path of a file in the plugin, found ${describe(named)}`, null);
  const outside = "system_prompt_file: expected a file inside the plugin's folder";
  if (isAbsolute(named) || named.includes("\0")) return refuse(outside, named);
  const path = await containedPath(root, named).catch(() => null);
  if (path === null) return refuse(outside, named);
  const text = await read(path).catch((error: unknown) => ({ failure: errorText(error) }));
  if (typeof text !== "string") return refuse(`cannot be read: ${text.failure}`, named);

  const parsed = readAgentPage(text);
  // A prompt file needs no fields: the manifest has them.
  const repairs = pageDiagnostics({ ...parsed, present: true }, { agent: name, plugin, file: named });
  if (repairs.some(({ level }) => level === "error")) return { profile: null, diagnostics: repairs };
  const origin: AgentOrigin = { source: "plugin", plugin, file: path, fallbackName: null };
  const merged = mergeFields(entry, parsed.fields);
  const { profile, diagnostics } = parseAgentFields(merged, parsed.body, origin, (key) =>
    Object.hasOwn(entry, key) || !Object.hasOwn(parsed.fields, key) ? null : parsed.lineOf(key),
  );
  const own = diagnostics.map((diagnostic) => ({ ...diagnostic, agent: name, file: named }));
  return { profile, diagnostics: [...repairs, ...own] };
}
