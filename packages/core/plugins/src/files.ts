/** Reads a plugin's contributions that are files: agents, skills and commands. */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseAgentFields, parseAgentText } from "@aegis/agents/parse.ts";
import { maxPluginAgents, readPluginAgents } from "@aegis/agents/plugin-agents.ts";
import type { AgentDiagnostic, AgentProfile } from "@aegis/contract/agent.ts";
import type { PluginDiagnostic, PluginManifest } from "@aegis/contract/plugin.ts";
import type { SkillDiagnostic } from "@aegis/contract/skill.ts";
import { containedPath } from "@aegis/lib/files.ts";
import { findCommandFiles } from "@aegis/skills/commands/files.ts";
import { parseCommandPage } from "@aegis/skills/commands/page.ts";
import type { PageCommand, PluginSkill } from "./contribute.ts";
import type { Contributions } from "./protocol.ts";

const maxSkills = 500;
const maxAgentDepth = 4;

/** `faults` are diagnostics for the agents, `diagnostics` for the plugin. */
export type PluginAgentsRead = {
  profiles: AgentProfile[];
  faults: AgentDiagnostic[];
  diagnostics: PluginDiagnostic[];
};

/** Reads the agents of the manifest, of its folders and of its code. A bad agent disables only itself. */
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
        level: "warning",
        agent: profile.slug,
        plugin,
        file: profile.file,
        line: null,
        message: `the plugin has an agent "${profile.slug}" already; the first one counts`,
      });
  };
  const found = await agentPages(root, manifest.folders.agents);
  const note = (file: string, message: string) =>
    diagnostics.push({ level: "warning", agent: null, plugin, file, line: null, message });
  for (const path of found.tooDeep) note(path, `is not read: it is more than ${maxAgentDepth} folders deep`);
  if (found.files.length > maxPluginAgents)
    note(root, `expected at most ${maxPluginAgents} agents, found ${found.files.length}; the rest is not read`);
  for (const file of found.files.slice(0, maxPluginAgents)) {
    const fallbackName = basename(file).replace(/\.md$/i, "");
    take(parseAgentText(await read(file), { source: "plugin", plugin, file, fallbackName }));
  }
  for (const { fields, prompt } of fromCode)
    take(parseAgentFields(fields, prompt, { source: "plugin", plugin, file: null, fallbackName: null }, () => null));
  return { profiles, faults: diagnostics, diagnostics: diagnostics.map((one) => fromAgent(one, root)) };
}

/** Finds skill pages below folders with the same rules as for a project. Returns at most `most`. */
export type FindSkills = (
  folders: readonly string[],
  most: number,
) => Promise<{
  pages: { file: string; folder: string | null }[];
  diagnostics: Pick<SkillDiagnostic, "file" | "line" | "message">[];
}>;

/** Accepts the same folder layouts as a project. */
export async function readSkills(
  manifest: PluginManifest,
  root: string,
  find: FindSkills,
): Promise<{ skills: PluginSkill[]; diagnostics: PluginDiagnostic[] }> {
  const folders: string[] = [];
  for (const folder of manifest.folders.skills) {
    const base = await containedPath(root, folder).catch(() => null);
    if (base !== null) folders.push(base);
  }
  const { pages, diagnostics } = await find(folders, maxSkills);
  const skills: PluginSkill[] = [];
  for (const { file, folder } of pages) {
    const isInside = (await containedPath(root, file).catch(() => null)) !== null;
    if (isInside) skills.push({ plugin: manifest.name, file, folder: folder ?? dirname(file) });
    // A project's folder may link anywhere; a plugin is limited to its own folder.
    else diagnostics.push({ file, line: null, message: "leads out of the plugin's folder; it is not read" });
  }
  const warnings = diagnostics.map(({ file, line, message }) => ({ file: below(root, file), line, message }));
  return { skills, diagnostics: warnings.map((warning) => ({ level: "warning", ...warning })) };
}

/** Reads pages below `commands/`. Skips names that the plugin's code already uses. */
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
          level: "warning",
          file: path,
          line: null,
          message: `the plugin has a command "/${name}" already; the first one counts`,
        });
    }
  }
  return { commands, diagnostics };
}

/** Finds agent pages, including subfolders; nothing outside the plugin. */
async function agentPages(root: string, folders: readonly string[]): Promise<{ files: string[]; tooDeep: string[] }> {
  const files: string[] = [];
  const tooDeep: string[] = [];
  const walk = async (folder: string, depth: number): Promise<void> => {
    for (const name of await names(folder)) {
      const path = await containedPath(root, join(folder, name));
      if (path === null) continue;
      if (/\.md$/i.test(name)) files.push(path);
      else if (!(await isFolder(path))) continue;
      else if (depth < maxAgentDepth) await walk(path, depth + 1);
      else tooDeep.push(path);
    }
  };
  for (const folder of folders) {
    const base = await containedPath(root, folder);
    if (base !== null && /\.md$/i.test(base)) files.push(base);
    else if (base !== null) await walk(base, 0);
  }
  return { files, tooDeep };
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function names(folder: string): Promise<string[]> {
  const entries = await readdir(folder).catch(() => []);
  return entries.filter((name) => !name.startsWith(".") && !name.startsWith("_")).sort();
}

function below(root: string, file: string | null): string | null {
  return file?.startsWith(`${root}/`) ? file.slice(root.length + 1) : file;
}

function fromAgent({ level, agent, file, line, message }: AgentDiagnostic, root: string): PluginDiagnostic {
  const place = below(root, file);
  // A bad agent does not affect the rest of the plugin, and neither does a bad tool.
  const shown =
    level === "error" ? `the agent "${agent ?? "?"}" is left out: ${message}` : `agent "${agent ?? "?"}": ${message}`;
  return { level, file: place, line, message: shown };
}
