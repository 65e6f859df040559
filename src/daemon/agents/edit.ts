/** Makes and changes agent files. What is written has been read back first; a file is replaced whole or not at all. */
import { chmod, mkdir, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type AgentDiagnostic, type AgentProfile, slugMaxLength } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import { stateDir } from "../../lib/daemon-file.ts";
import { containedPath, isErrno, writeAtomic } from "../../lib/files.ts";
import { errorText } from "../../lib/log.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { agentSlug, type ParsedAgent, parseAgentText } from "../../runtime/agents/parse.ts";
import { type AgentFields, changeAgentText, newAgentText } from "../../runtime/agents/write.ts";
import { compareCandidates } from "../../runtime/registry/agent-order.ts";
import { decodeText } from "../config/decode.ts";
import { diskFiles } from "../config/files.ts";
import { loadProject } from "../config/load.ts";
import { withLock } from "../config/lock.ts";
import { AgentFiles } from "./files.ts";
import { type AgentPlace, agentPlaces } from "./places.ts";

export type AgentProject = { root: string; home: string; harnesses: readonly string[] };

export type Written = { file: string; diagnostics: AgentDiagnostic[] };

/** Null removes a field, undefined leaves it. */
export type AgentChanges = { [Key in keyof Omit<AgentFields, "name">]?: AgentFields[Key] | null | undefined };

export type NewAgent = {
  name: string;
  /** In the user's own folder instead of the project's. */
  user: boolean;
  fields: AgentChanges;
  prompt: string;
  /** Fills what `fields` leave out. */
  from: AgentProfile | null;
  now: Date;
};

/** Throws `conflict` when there is such a file already, `invalid` when the agent would be wrong. */
export async function createAgent(project: AgentProject, agent: NewAgent): Promise<Written> {
  const name = agentSlug(agent.name);
  if (name === null || name !== agent.name)
    throw new AegisError("invalid", `"${agent.name.slice(0, 80)}" is no name for an agent`, {
      hint: `expected lower-case letters and digits joined by - or _, at most ${slugMaxLength}`,
    });
  const place = placeOf(project, agent.user ? "user" : "project");
  return change(project, place, join(place.folder, `${name}.md`), (old) => {
    if (old !== null)
      throw new AegisError("conflict", `the agent "${name}" has a file already`, { hint: hintEdit(name) });
    const given = Object.entries(agent.fields).filter(([, value]) => value !== undefined && value !== null);
    const fields = { name, ...fieldsOf(agent.from), ...Object.fromEntries(given) } as AgentFields;
    return newAgentText(fields, agent.prompt, agent.now);
  });
}

/** Changes the file that the name means. Null removes a field. Throws when that agent is not the user's own. */
export async function editAgent(
  project: AgentProject,
  options: { name: string; changes: AgentChanges; prompt: string | undefined; now: Date },
): Promise<Written> {
  const { name, changes, prompt, now } = options;
  const profile = await findAgent(project, name);
  const { file, source } = profile;
  if (file === null || (source !== "project" && source !== "user"))
    throw new AegisError("conflict", `the agent "${name}" is not yours to change: it comes from ${file ?? source}`, {
      hint: `make your own from it with: aegis agent new ${name} --from ${name}`,
    });
  return change(project, placeOf(project, source), file, (old) => {
    if (old === null) throw new AegisError("not_found", `${file} is gone`);
    try {
      return changeAgentText(old, changes, prompt, now);
    } catch (error) {
      throw new AegisError("invalid", `${file} cannot be changed: ${errorText(error)}`, { cause: error });
    }
  });
}

/** The strongest agent file of a name. Throws `not_found` with the nearest one. */
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

/** What a file says, for whoever wants to know before it is used. */
export async function validateAgentFile(project: AgentProject, path: string): Promise<AgentDiagnostic[]> {
  try {
    const decoded = decodeText(await diskFiles.read(path));
    if (!("text" in decoded)) return [diagnostic(path, decoded.message, decoded.at.line)];
    return check(project, parse(decoded.text, path, "project")).diagnostics;
  } catch (error) {
    return [diagnostic(path, `cannot be read: ${errorText(error)}`, null)];
  }
}

/** Every agent file that counts here. */
export async function validateAllAgents(
  project: AgentProject,
): Promise<{ files: number; diagnostics: AgentDiagnostic[] }> {
  const { profiles, diagnostics } = await new AgentFiles().load(agentPlaces(project.root, project.home));
  const harness = profiles.flatMap((profile) => check(project, { profile, diagnostics: [] }).diagnostics);
  return { files: profiles.length, diagnostics: [...diagnostics, ...harness] };
}

async function change(
  project: AgentProject,
  place: AgentPlace,
  file: string,
  next: (old: string | null) => string,
): Promise<Written> {
  const base = place.source === "user" ? project.home : project.root;
  const path = await containedPath(base, relative(base, file));
  if (path === null) throw new AegisError("forbidden", `${file} leads out of ${base}`);
  const locks = place.source === "user" ? join(project.home, ".aegis", "locks") : stateDir(project.root);
  return withLock(locks, async () => {
    const old = await readOld(path);
    const text = next(old?.text ?? null);
    const { profile, diagnostics } = check(project, parse(text, file, place.source));
    if (profile === null)
      throw new AegisError("invalid", diagnostics.map((one) => one.message).join("; "), { details: { diagnostics } });
    await mkdir(dirname(path), { recursive: true });
    await writeAtomic(path, text, { mode: old?.mode ?? 0o644 });
    // The umask applies to new files, and the replacement is one.
    if (old !== null) await chmod(path, old.mode);
    return { file, diagnostics: [...diagnostics, ...(await findStronger(project, profile.slug, file))] };
  });
}

/** Whoever writes a file wants it to count; a stronger agent of the same name keeps it from that. */
async function findStronger(project: AgentProject, name: string, file: string): Promise<AgentDiagnostic[]> {
  const { config } = await loadProject(project.root, project, diskFiles);
  const declared = config !== null && Object.hasOwn(config.agents, name);
  const winner = declared ? null : await findAgent(project, name);
  if (winner?.file === file) return [];
  const stronger = winner?.file ?? "the project's configuration";
  const message = `has no effect yet: ${stronger} has an agent "${name}" too, which goes first`;
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
  return parseAgentText(text, { source, plugin: null, file, fallbackName: null });
}

/** Adds what only the daemon knows: which harnesses there are. */
function check(project: AgentProject, { profile, diagnostics }: ParsedAgent): ParsedAgent {
  const harness = profile?.harness ?? null;
  if (profile === null || harness === null || project.harnesses.includes(harness)) return { profile, diagnostics };
  const message = `harness: Aegis cannot drive "${harness}"${didYouMean(harness, project.harnesses)}; it knows ${project.harnesses.join(", ")}`;
  return {
    profile: null,
    diagnostics: [...diagnostics, { ...diagnostic(profile.file, message, null), agent: profile.slug }],
  };
}

function fieldsOf(profile: AgentProfile | null): AgentChanges {
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

function placeOf({ root, home }: AgentProject, source: "project" | "user"): AgentPlace {
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
