/** What a plugin brings without code: agents, skills and commands as files of its folder. */
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { AgentDiagnostic, AgentProfile } from "../../contract/agent.ts";
import type { PluginDiagnostic, PluginManifest } from "../../contract/plugin.ts";
import { containedPath } from "../../lib/files.ts";
import { parseAgentFields, parseAgentText } from "../agents/parse.ts";
import { maxPluginAgents, readPluginAgents } from "../agents/plugin-agents.ts";
import { findCommandFiles } from "../commands/files.ts";
import { parseCommandPage } from "../commands/page.ts";
import type { PageCommand, PluginSkill } from "./contribute.ts";
import type { Contributions } from "./protocol.ts";

const maxSkills = 500;

/** `faults` are what the agents' authors should know, `diagnostics` the same for the plugin's. */
export type PluginAgentsRead = {
  profiles: AgentProfile[];
  faults: AgentDiagnostic[];
  diagnostics: PluginDiagnostic[];
};

/** The agents of the manifest, of its folders and of its code. One bad agent costs that agent only. */
export async function readAgents(
  manifest: PluginManifest,
  root: string,
  fromCode: Contributions["agents"],
): Promise<PluginAgentsRead> {
  const plugin = manifest.name;
  const read = (path: string) => readFile(path, "utf8");
  const listed = await readPluginAgents({ plugin, root, entries: manifest.agents, read });
  const profiles = [...listed.profiles];
  const diagnostics: AgentDiagnostic[] = [...listed.diagnostics];
  const take = (parsed: { profile: AgentProfile | null; diagnostics: AgentDiagnostic[] }) => {
    diagnostics.push(...parsed.diagnostics);
    const { profile } = parsed;
    if (profile === null) return;
    if (!profiles.some((one) => one.slug === profile.slug)) profiles.push(profile);
    else
      diagnostics.push({
        ...{ level: "warning", agent: profile.slug, plugin, file: profile.file, line: null },
        message: `the plugin has an agent "${profile.slug}" already; the first one counts`,
      });
  };
  for (const file of await pages(root, manifest.folders.agents, maxPluginAgents)) {
    const fallbackName = basename(file).replace(/\.md$/, "");
    take(parseAgentText(await read(file), { source: "plugin", plugin, file, fallbackName }));
  }
  for (const { fields, prompt } of fromCode)
    take(parseAgentFields(fields, prompt, { source: "plugin", plugin, file: null, fallbackName: null }, () => null));
  return { profiles, faults: diagnostics, diagnostics: diagnostics.map((one) => fromAgent(one, root)) };
}

/** `skills/<name>/SKILL.md` and `skills/<name>.md`. */
export async function readSkills(manifest: PluginManifest, root: string): Promise<PluginSkill[]> {
  const skills: PluginSkill[] = [];
  for (const folder of manifest.folders.skills) {
    const base = await containedPath(root, folder);
    if (base === null) continue;
    for (const name of await names(base)) {
      const page = name.endsWith(".md") ? join(base, name) : join(base, name, "SKILL.md");
      const file = await containedPath(root, page);
      if (file === null || skills.length >= maxSkills) continue;
      const exists = await readFile(file).then(
        () => true,
        () => false,
      );
      if (exists) skills.push({ plugin: manifest.name, file, folder: join(file, "..") });
    }
  }
  return skills;
}

/** Pages below `commands/`. A name that code of the plugin has is not taken twice. */
export async function readCommands(
  manifest: PluginManifest,
  root: string,
  fromCode: Contributions["commands"],
): Promise<{ commands: PageCommand[]; diagnostics: PluginDiagnostic[] }> {
  const commands: PageCommand[] = [];
  const diagnostics: PluginDiagnostic[] = [];
  for (const folder of manifest.folders.commands) {
    const found = await findCommandFiles(root, folder);
    diagnostics.push(...found.diagnostics);
    for (const { name, path, bytes } of found.files) {
      const { page, diagnostics: notes } = parseCommandPage(bytes, path);
      diagnostics.push(...notes.map((note) => ({ ...note, level: note.level === "error" ? "warning" : note.level })));
      const isTaken = [...fromCode, ...commands].some((other) => other.name === name);
      if (page === null) continue;
      if (!isTaken) commands.push({ name, file: path, ...page });
      else
        diagnostics.push({
          ...{ level: "warning", file: path, line: null },
          message: `the plugin has a command "/${name}" already; the first one counts`,
        });
    }
  }
  return { commands, diagnostics };
}

async function pages(root: string, folders: readonly string[], most: number): Promise<string[]> {
  const found: string[] = [];
  for (const folder of folders) {
    const base = await containedPath(root, folder);
    if (base === null) continue;
    for (const name of await names(base)) {
      const file = name.endsWith(".md") ? await containedPath(root, join(base, name)) : null;
      if (file !== null) found.push(file);
    }
  }
  return found.slice(0, most);
}

async function names(folder: string): Promise<string[]> {
  const entries = await readdir(folder).catch(() => []);
  return entries.filter((name) => !name.startsWith(".") && !name.startsWith("_")).sort();
}

function fromAgent({ level, agent, file, line, message }: AgentDiagnostic, root: string): PluginDiagnostic {
  const place = file?.startsWith(root) ? file.slice(root.length + 1) : file;
  // One bad agent leaves the plugin as it is.
  const shown =
    level === "error" ? `the agent "${agent ?? "?"}" is left out: ${message}` : `agent "${agent ?? "?"}": ${message}`;
  return { level: "warning", file: place, line, message: shown };
}
