/** Loads a project's configuration: all of it is right, or every problem is named and there is none. */
import { join } from "node:path";
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { undeclaredAgents } from "../agents/names.ts";
import { type Combined, combine, type Finding } from "./combine.ts";
import { type Config, resolveConfig } from "./config.ts";
import { explainIssues } from "./explain.ts";
import { type ConfigFiles, diskFiles, type ReadSources, readSources } from "./files.ts";
import { type ConfigProblem, sortProblems } from "./problem.ts";
import { readPrompts } from "./prompts.ts";
import { checkReferences, type KnownNames } from "./references.ts";
import { configSchema, type ParsedConfig } from "./schema.ts";

export type LoadedConfig = {
  /** The project's folder. */
  root: string;
  /** The config files and prompt files that were read. */
  files: string[];
  /** Null when there are problems: then nothing may start. */
  config: Config | null;
  problems: ConfigProblem[];
  /** What is valid and most likely not meant. */
  warnings: ConfigProblem[];
};

export type LoadOptions = KnownNames & {
  cwd: string;
  readFile?: ConfigFiles["read"];
};

/** Never throws for what a file holds: that is in `problems`. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { cwd, readFile, ...known } = options;
  return loadProject(
    findProjectRoot(cwd),
    known,
    readFile === undefined ? diskFiles : { ...diskFiles, read: readFile },
  );
}

/** Like `loadConfig`, for a project whose folder is known. */
export async function loadProject(root: string, known: KnownNames, files: ConfigFiles): Promise<LoadedConfig> {
  const sources = await readSources(root, files);
  const combined = combine(sources);
  const parsed = parseConfig(combined.value);
  const prompts = await readPrompts(root, combined.value, files.read);
  const findings: Finding[] = [...prompts.findings];
  if (!parsed.success) findings.push(...explainIssues(configSchema, combined.value, parsed.error.issues));
  const references = await findDangling(root, combined.value, known);
  // While a file is broken, a name that seems to be missing may well be in it.
  findings.push(...(combined.whole ? references : []));

  const problems = sortProblems([
    ...sources.problems,
    ...combined.problems,
    ...hiddenProblems(sources),
    ...findings.map((finding) => combined.report(finding)).filter((problem) => problem !== null),
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

function emptyToolLists({ agents }: ParsedConfig, { report }: Combined): ConfigProblem[] {
  const message = "an empty list counts as not written; for an agent without tools write none";
  return Object.entries(agents).flatMap(([slug, entry]) => {
    const key = entry.tools === undefined ? "tools_allow" : "tools";
    if (entry[key]?.length !== 0) return [];
    return report({ path: ["agents", slug, key], at: "value", message }) ?? [];
  });
}

/** Most configurations name only agents they declare; the agent files are read for the others. */
async function findDangling(root: string, value: unknown, known: KnownNames): Promise<Finding[]> {
  const findings = checkReferences(value, known);
  if (findings.length === 0 || known.agents !== undefined) return findings;
  return checkReferences(value, { ...known, agents: await undeclaredAgents(root) });
}

/** What is wrong in the shared files although this machine's local file covers it: on other machines it shows. */
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

/** Not compiled: that pays only for schemas that judge many values, and every command waits for this one. */
function parseConfig(value: unknown) {
  return configSchema.safeParse(value, { jitless: true });
}
