/** Creates and edits agent files. New content is parsed before it is written, and a file is replaced atomically. */
import { chmod, mkdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { compareCandidates } from "@aegis/agents/agent-order.ts";
import { type ParsedAgent, parseAgentText } from "@aegis/agents/parse.ts";
import { agentSlug } from "@aegis/agents/slug.ts";
import { type AgentFields, changeAgentText, newAgentText } from "@aegis/agents/write.ts";
import { type AgentDiagnostic, type AgentProfile, type AgentSeed, slugMaxLength } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { containedPath, isErrno, writeAtomic } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { decodeText } from "../config/decode.ts";
import { diskFiles } from "../config/files.ts";
import { loadProject } from "../config/load.ts";
import { withLock } from "../config/lock.ts";
import { containedStateDir } from "../state/folder.ts";
import { AgentFiles } from "./files.ts";
import { type AgentPlace, agentPlaces } from "./places.ts";

export type AgentProject = { root: string; home: string; harnesses: readonly string[] };

export type WrittenAgent = { file: string; diagnostics: AgentDiagnostic[] };

/** Null removes a field; undefined leaves it unchanged. */
export type AgentChanges = { [Key in keyof Omit<AgentFields, "name">]?: AgentFields[Key] | null | undefined };

export type NewAgent = {
  name: string;
  /** In the user's own folder instead of the project's. */
  user: boolean;
  fields: AgentChanges;
  prompt: string;
  /** Supplies the fields that `fields` omits. */
  from: AgentSeed | null;
  now: Date;
};

/** Throws `conflict` if the file exists and `invalid` if the agent would be invalid. */
export async function createAgent(project: AgentProject, agent: NewAgent): Promise<WrittenAgent> {
  const name = agentSlug(agent.name);
  if (name === null || name !== agent.name)
    throw new AegisError("invalid", `"${agent.name.slice(0, 80)}" is not a valid agent name`, {
      hint: `expected lower-case letters and digits joined by - or _, at most ${slugMaxLength}`,
    });
  const place = placeOf(project, agent.user ? "user" : "project");
  return replaceAgentFile(project, place, join(place.folder, `${name}.md`), agent.fields, (old) => {
    if (old !== null)
      throw new AegisError("conflict", `the agent "${name}" has a file already`, { hint: hintEdit(name) });
    const given = Object.entries(agent.fields).filter(([, value]) => value !== undefined && value !== null);
    const fields = { name, ...fieldsOf(agent.from), ...Object.fromEntries(given) } as AgentFields;
    return newAgentText(fields, agent.prompt, agent.now);
  });
}

/**
 * Edits the file that defines the named agent. Null removes a field. Throws if the agent does not belong to the user.
 */
export async function editAgent(
  project: AgentProject,
  options: { name: string; changes: AgentChanges; prompt: string | undefined; now: Date },
): Promise<WrittenAgent> {
  const { name, changes, prompt, now } = options;
  const profile = await findAgent(project, name);
  const { file, source } = profile;
  if (file === null || (source !== "project" && source !== "user"))
    throw new AegisError("conflict", `the agent "${name}" is not yours to change: it comes from ${file ?? source}`, {
      hint: `make your own from it with: aegis agent new ${name} --from ${name}`,
    });
  return replaceAgentFile(project, placeOf(project, source), file, changes, (old) => {
    if (old === null) throw new AegisError("not_found", `${file} is gone`);
    try {
      return changeAgentText(old, changes, prompt, now);
    } catch (error) {
      throw new AegisError("invalid", `${file} cannot be changed: ${errorText(error)}`, { cause: error });
    }
  });
}

/** Returns the file with the highest precedence for a name. Throws `not_found` with the nearest name. */
export async function findAgent(project: AgentProject, name: string): Promise<AgentProfile> {
  const { profiles, diagnostics } = await new AgentFiles().load(agentPlaces(project.root, project.home));
  const [first] = profiles.filter((profile) => profile.slug === name).sort(compareCandidates);
  if (first !== undefined) return first;
  const names = profiles.map((profile) => profile.slug);
  const broken = diagnostics.find((diagnostic) => diagnostic.agent === name && diagnostic.level === "error");
  const message =
    broken === undefined
      ? `no agent file for "${name}"${didYouMean(name, names)}`
      : `the agent file ${broken.file} cannot be used: ${broken.message}`;
  throw new AegisError("not_found", message, {
    hint: "agents of the configuration are changed with: aegis config set",
  });
}

/** Validates a file before it is used. */
export async function validateAgentFile(project: AgentProject, path: string): Promise<AgentDiagnostic[]> {
  try {
    const decoded = decodeText(await diskFiles.read(path));
    if (!("text" in decoded)) return [diagnostic(path, decoded.message, decoded.at.line)];
    return check(project, parse(decoded.text, path, "project")).diagnostics;
  } catch (error) {
    return [diagnostic(path, `cannot be read: ${errorText(error)}`, null)];
  }
}

/** Validates every agent file that applies to the project. */
export async function validateAllAgents(
  project: AgentProject,
): Promise<{ files: number; diagnostics: AgentDiagnostic[] }> {
  const { profiles, diagnostics } = await new AgentFiles().load(agentPlaces(project.root, project.home));
  const harness = profiles.flatMap((profile) => check(project, { profile, diagnostics: [] }).diagnostics);
  return { files: profiles.length, diagnostics: [...diagnostics, ...harness] };
}

/** Replaces an agent file while no other process edits one. `changes` are the fields that must be valid. */
export async function replaceAgentFile(
  project: AgentProject,
  place: AgentPlace,
  file: string,
  changes: AgentChanges,
  next: (old: string | null) => string,
): Promise<WrittenAgent> {
  const base = place.source === "user" ? project.home : project.root;
  const path = await containedPath(base, relative(base, file));
  if (path === null) throw new AegisError("forbidden", `${file} leads out of ${base}`);
  const locks = place.source === "user" ? join(project.home, ".aegis", "locks") : await containedStateDir(project.root);
  return withLock(locks, async () => {
    const old = await readOld(path);
    const text = next(old?.text ?? null);
    const { profile, diagnostics } = checkAgentText(project, text, { file, source: place.source });
    const given = Object.entries(changes).flatMap(([key, value]) => (value === undefined ? [] : [key]));
    // A bad value that was already in the file is dropped with a warning; a bad value from this edit is refused.
    const isGiven = ({ message }: AgentDiagnostic) => given.some((key) => message.startsWith(`${key}: expected`));
    const wrong = diagnostics.filter((one) => one.level === "error" || isGiven(one));
    if (profile === null || wrong.length > 0)
      throw new AegisError("invalid", wrong.map((one) => one.message).join("; "), { details: { diagnostics: wrong } });
    await mkdir(dirname(path), { recursive: true });
    await writeAtomic(path, text, { mode: old?.mode ?? 0o644 });
    // The replacement is a new file, so the umask would apply to it.
    if (old !== null) await chmod(path, old.mode);
    return { file, diagnostics: [...diagnostics, ...(await findStronger(project, profile.slug, file))] };
  });
}

/** Finds an agent with the same name and a higher precedence, which would hide the file that the user just wrote. */
async function findStronger(project: AgentProject, name: string, file: string): Promise<AgentDiagnostic[]> {
  const { config } = await loadProject(project.root, project, diskFiles);
  const declared = config !== null && Object.hasOwn(config.agents, name);
  const winner = declared ? null : await findAgent(project, name);
  if (winner?.file === file) return [];
  const stronger = winner?.file ?? "the project's configuration";
  const message = `has no effect yet: ${stronger} has an agent "${name}" too, which takes precedence`;
  return [{ ...diagnostic(file, message, null), level: "warning", agent: name }];
}

async function readOld(path: string): Promise<{ text: string; mode: number } | null> {
  try {
    const decoded = decodeText(await diskFiles.read(path));
    if (!("text" in decoded)) throw new AegisError("invalid", `${path}:${decoded.at.line}: ${decoded.message}`);
    return { text: decoded.text, mode: (await stat(path)).mode % 0o1000 };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

function parse(text: string, file: string, source: AgentPlace["source"]): ParsedAgent {
  return parseAgentText(text, { source, plugin: null, file, fallbackName: basename(file).replace(/\.md$/i, "") });
}

/** Parses a text as the content of an agent file. */
export function checkAgentText(
  project: AgentProject,
  text: string,
  { file, source }: { file: string; source: AgentPlace["source"] },
): ParsedAgent {
  return check(project, parse(text, file, source));
}

/** Adds the check that needs the daemon's knowledge: which harnesses exist. */
function check(project: AgentProject, { profile, diagnostics }: ParsedAgent): ParsedAgent {
  const harness = profile?.harness ?? null;
  if (profile === null || harness === null || project.harnesses.includes(harness)) return { profile, diagnostics };
  const message = `harness: Aegis cannot drive "${harness}"${didYouMean(harness, project.harnesses)}; it knows ${project.harnesses.join(", ")}`;
  return {
    profile: null,
    diagnostics: [...diagnostics, { ...diagnostic(profile.file, message, null), agent: profile.slug }],
  };
}

function fieldsOf(profile: AgentSeed | null): AgentChanges {
  if (profile === null) return {};
  const { description, harness, model, temperature, effort, permission, tools, deny_tools: denied, skills } = profile;
  return {
    description,
    harness: harness ?? undefined,
    model: model ?? undefined,
    temperature: temperature ?? undefined,
    reasoning_effort: effort ?? undefined,
    permission: permission ?? undefined,
    tools: tools === null ? undefined : tools.length === 0 ? "none" : tools,
    deny_tools: denied.length === 0 ? undefined : denied,
    skills: skills ?? undefined,
  };
}

export function placeOf({ root, home }: AgentProject, source: "project" | "user"): AgentPlace {
  const place = agentPlaces(root, home).find((candidate) => candidate.source === source);
  if (place === undefined) throw new Error(`no folder for agents of the ${source}`);
  return place;
}

function diagnostic(file: string | null, message: string, line: number | null): AgentDiagnostic {
  return { level: "error", agent: null, plugin: null, file, line, message };
}

function hintEdit(name: string): string {
  return `change it with: aegis agent edit ${name}`;
}
