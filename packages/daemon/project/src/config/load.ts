/** Loads a project's configuration. The result is either a valid configuration or a list of all problems. */

import { isAbsolute, join } from "node:path";
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { containedPath, isErrno } from "@aegis/lib/files.ts";
import { userHome } from "@aegis/lib/home.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { errorText } from "@aegis/lib/log.ts";
import { AgentFiles } from "../agents/files.ts";
import { agentPlaces } from "../agents/places.ts";
import { offlineAgent } from "../harnesses/detect.ts";
import { type CombinedConfig, combine, type Finding, readPath } from "./combine.ts";
import { type Config, resolveConfig } from "./config.ts";
import { decodeText } from "./decode.ts";
import { explainIssues } from "./explain.ts";
import { type ConfigFiles, diskFiles, type ReadSources, readSources } from "./files.ts";
import { withOtherNames } from "./other-names.ts";
import { type ConfigProblem, sortProblems } from "./problem.ts";
import { checkReferences, type KnownNames } from "./references.ts";
import { checkSandboxSettings } from "./sandbox-settings.ts";
import { configSchema, type ParsedConfig } from "./schema.ts";
import { checkVariables } from "./variables.ts";

export type LoadedConfig = {
  /** The project's folder. */
  root: string;
  /** The config files and prompt files that were read. */
  files: string[];
  /** Null if there are problems; the daemon must not start then. */
  config: Config | null;
  problems: ConfigProblem[];
  /** Valid settings that are probably mistakes. */
  warnings: ConfigProblem[];
};

export type LoadOptions = KnownNames & {
  cwd: string;
  readFile?: ConfigFiles["read"];
};

/** Never throws because of file content; `problems` describes it. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { cwd, readFile, ...known } = options;
  return loadProject(
    findProjectRoot(cwd),
    known,
    readFile === undefined ? diskFiles : { ...diskFiles, read: readFile },
  );
}

/** Like `loadConfig`, for a known project folder. */
export async function loadProject(root: string, known: KnownNames, files: ConfigFiles): Promise<LoadedConfig> {
  const sources = await readSources(root, files);
  const combined = combine(sources);
  const parsed = parseConfig(combined.value);
  const prompts = await readPrompts(root, combined.value, files.read);
  const findings: Finding[] = [...prompts.findings];
  if (!parsed.success) findings.push(...explainIssues(configSchema, combined.value, parsed.error.issues));
  const references = await findDangling(root, combined.value, known);
  // A name that seems to be missing may be declared in a file that did not parse.
  findings.push(...(combined.whole ? references : []), ...checkVariables(combined.value));
  findings.push(...checkSandboxSettings(combined.value, { root, home: userHome() }));

  const problems = sortProblems([
    ...sources.problems,
    ...combined.problems,
    ...hiddenProblems(sources),
    ...withOtherNames(combined.value, findings)
      .map((finding) => combined.report(finding))
      .filter((problem) => problem !== null),
  ]);
  const read = [sources.main, ...sources.overlays, sources.local].filter((source) => source !== null);
  return {
    root,
    files: [...read.map((source) => join(root, source.file)), ...prompts.files],
    config: parsed.success && problems.length === 0 ? resolveConfig(parsed.data, prompts.texts) : null,
    problems,
    warnings: parsed.success ? emptyToolLists(parsed.data, combined) : [],
  };
}

function emptyToolLists({ agents }: ParsedConfig, { report }: CombinedConfig): ConfigProblem[] {
  const message = "an empty list counts as not written; for an agent without tools write none";
  return Object.entries(agents).flatMap(([slug, entry]) => {
    const key = entry.tools === undefined ? "tools_allow" : "tools";
    if (entry[key]?.length !== 0) return [];
    return report({ path: ["agents", slug, key], at: "value", message }) ?? [];
  });
}

/** Reads the agent files only if the configuration names an agent that it does not declare, which is rare. */
async function findDangling(root: string, value: unknown, known: KnownNames): Promise<Finding[]> {
  const findings = checkReferences(value, known);
  if (findings.length === 0 || known.agents !== undefined) return findings;
  return checkReferences(value, { ...known, agents: await undeclaredAgents(root) });
}

/** Problems in the shared files that this machine's local file hides. They affect other machines. */
function hiddenProblems(sources: ReadSources): ConfigProblem[] {
  if (sources.local === null) return [];
  const shared = combine({ ...sources, local: null });
  const parsed = parseConfig(shared.value);
  if (parsed.success) return [];
  return explainIssues(configSchema, shared.value, parsed.error.issues)
    .filter((finding) => finding.missing !== true)
    .map((finding) => shared.report(finding))
    .filter((problem) => problem !== null);
}

/** Not compiled: compiling a schema pays off only for many values, and every command waits for this call. */
function parseConfig(value: unknown) {
  return configSchema.safeParse(value, { jitless: true });
}

type Prompts = {
  /** Agent name → text. */
  texts: Map<string, string>;
  /** The real paths of the files that were read. */
  files: string[];
  findings: Finding[];
};

/** Reads the prompt files that agents name. A prompt file must lie inside the project after links are resolved. */
async function readPrompts(root: string, config: unknown, read: ConfigFiles["read"]): Promise<Prompts> {
  const prompts: Prompts = { texts: new Map(), files: [], findings: [] };
  const agents = readPath(config, ["agents"]);
  if (!isRecord(agents)) return prompts;
  await Promise.all(
    Object.entries(agents).map(async ([slug, entry]) => {
      const named = isRecord(entry) ? entry.prompt : undefined;
      if (typeof named !== "string" || named === "") return;
      const result = await readPrompt(root, named, read);
      if ("text" in result) {
        prompts.texts.set(slug, result.text);
        prompts.files.push(result.path);
      } else prompts.findings.push({ path: ["agents", slug, "prompt"], at: "value", message: result.message });
    }),
  );
  return prompts;
}

async function readPrompt(
  root: string,
  named: string,
  read: ConfigFiles["read"],
): Promise<{ path: string; text: string } | { message: string }> {
  const inside = "expected a file inside the project";
  const path = isAbsolute(named) || named.includes("\0") ? null : await containedPath(root, named);
  if (path === null) return { message: `${inside}, found "${named}", which is outside` };
  try {
    const decoded = decodeText(await read(path));
    return "text" in decoded
      ? { path, text: decoded.text }
      : { message: `"${named}" (line ${decoded.at.line}): ${decoded.message}` };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return { message: `${inside}, found no file "${named}"` };
    return { message: `"${named}" cannot be read: ${errorText(error)}` };
  }
}

/** The names of agents that exist without being declared in the configuration. */
async function undeclaredAgents(root: string): Promise<string[]> {
  const { profiles } = await new AgentFiles().load(agentPlaces(root, userHome()));
  return [...new Set([offlineAgent.slug, ...profiles.map((profile) => profile.slug)])];
}
