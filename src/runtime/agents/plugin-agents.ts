/**
 * The agents that a plugin's manifest lists: each names a prompt file and may say anything the file's own fields say,
 * and then it rules over them. One bad entry costs that entry only.
 */
import { isAbsolute } from "node:path";
import type { AgentDiagnostic, AgentProfile } from "../../contract/agent.ts";
import { containedPath } from "../../lib/files.ts";
import { parseFrontmatter } from "../../lib/frontmatter.ts";
import { errorText } from "../../lib/log.ts";
import { describe } from "./fields.ts";
import { type AgentOrigin, agentSlug, parseAgentFields, synonyms } from "./parse.ts";

export type PluginAgentsOptions = {
  plugin: string;
  /** The plugin's folder. Prompt files stay inside it, links followed. */
  root: string;
  /** `agents` of the manifest, as it was parsed. */
  entries: unknown;
  /** The text of a file. Throws when it cannot be read. */
  read: (path: string) => Promise<string>;
};

export type PluginAgents = { profiles: AgentProfile[]; diagnostics: AgentDiagnostic[] };

/** A manifest with more is refused beyond that. */
export const maxPluginAgents = 200;

type Fields = Readonly<Record<string, unknown>>;

/** Never throws for what manifest and files hold. */
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
    const name = isFields(entry) && typeof entry.name === "string" ? entry.name : `#${index + 1}`;
    if (!isFields(entry)) {
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

/** The manifest's fields over the file's. Zero and an empty list are values; an empty text is not. */
export function mergeFields(entry: Fields, file: Fields): Fields {
  const { system_prompt_file: _, ...own } = entry;
  const said = Object.entries(own).filter(([, value]) => value !== undefined && value !== null && value !== "");
  // The same under another name is no other field.
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

  const parsed = parseFrontmatter(text);
  const fatal = parsed.problems.find((problem) => problem.fatal);
  if (fatal !== undefined) return refuse(fatal.message, named, fatal.line);
  const origin: AgentOrigin = { source: "plugin", plugin, file: path, fallbackName: null };
  const merged = mergeFields(entry, parsed.fields);
  const { profile, diagnostics } = parseAgentFields(merged, parsed.body, origin, (key) =>
    Object.hasOwn(entry, key) || !Object.hasOwn(parsed.fields, key) ? null : parsed.lineOf(key),
  );
  return { profile, diagnostics: diagnostics.map((diagnostic) => ({ ...diagnostic, agent: name, file: named })) };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
