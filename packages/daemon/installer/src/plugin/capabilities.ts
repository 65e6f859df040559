/**
 * Describes what a plugin can do without running it: from its manifest and from patterns in its code. Code can hide
 * what it does, so trust covers the files themselves.
 */
import { basename, join } from "node:path";
import type { PluginManifest } from "@aegis/contract/plugin.ts";
import { readRegular } from "@aegis/lib/files.ts";
import { listTree } from "@aegis/lib/safe-tree.ts";

/** Lines are short and stable, so that two versions can be compared. */
export type Capabilities = {
  modules: string[];
  hooks: string[];
  tools: string[];
  workflows: string[];
  commands: string[];
  /** Programs that become tools. */
  executables: string[];
  agents: string[];
  skills: string[];
  scripts: string[];
  cleanups: string[];
  /** Settings that contain secrets. */
  secrets: string[];
  /** What its code uses: programs, network, files. */
  uses: string[];
};

const capabilityTitles: Readonly<Record<keyof Capabilities, string>> = {
  scripts: "runs at install",
  cleanups: "runs at uninstall",
  modules: "code",
  hooks: "hooks",
  tools: "tools",
  executables: "programs as tools",
  workflows: "workflows",
  commands: "commands",
  agents: "agents",
  skills: "skills",
  secrets: "asks for secrets",
  uses: "its code uses",
};

const codeFile = /\.[cm]?[jt]s$/;
const notLoaded = /\.(?:d|test|spec)\.[cm]?[jt]s$/;
/** Longer files are generated and reveal little. */
const maxScanned = 2 << 20;

/** The kinds of contributions that code can name. */
type Named = "hooks" | "tools" | "workflows" | "commands" | "agents" | "skills";

const patterns: readonly { key: Named; pattern: RegExp }[] = [
  { key: "hooks", pattern: /\b(?:hook|registerHook)\(\s*["'`]([\w-]+)["'`]/g },
  { key: "tools", pattern: /\b(?:tool|registerTool)\(\s*(?:\{\s*name:\s*)?["'`]([\w-]+)["'`]/g },
  { key: "tools", pattern: /\bconst\s+(\w+)\s*=\s*tool\(\s*\{(?!\s*name:)/g },
  { key: "workflows", pattern: /\bworkflow\(\s*["'`]([\w-]+)["'`]/g },
  { key: "commands", pattern: /\b(?:command|registerCommand)\(\s*\{\s*name:\s*["'`]([\w-]+)["'`]/g },
  { key: "agents", pattern: /\b(?:agent|registerAgent)\(\s*\{\s*name:\s*["'`]([\w-]+)["'`]/g },
  { key: "skills", pattern: /\b(?:skill|registerSkill)\(\s*\{\s*name:\s*["'`]([\w-]+)["'`]/g },
];
const reaches: readonly { use: string; pattern: RegExp }[] = [
  { use: "other programs", pattern: /["'](?:node:)?child_process["']/ },
  { use: "the network", pattern: /["'](?:node:)?(?:https?|http2|net|tls|dgram)["']|\bfetch\(|\bWebSocket\b/ },
  { use: "files", pattern: /["'](?:node:)?fs(?:\/promises)?["']/ },
  { use: "code made at run time", pattern: /\beval\(|\bnew Function\(|["'](?:node:)?vm["']/ },
  { use: "environment variables", pattern: /\bprocess\.env\b/ },
];

export async function capabilitiesOf(dir: string, manifest: PluginManifest): Promise<Capabilities> {
  const paths = await listTree(dir);
  const code = paths.filter((path) => codeFile.test(path) && !notLoaded.test(path));
  const isHidden = (path: string) => path.split("/").some((part) => /^[._]/.test(part) || part === "node_modules");
  const modules = manifest.has_modules ? code.filter((path) => !isHidden(path)) : [];
  const found: Record<Named, Set<string>> = {
    hooks: new Set(),
    tools: new Set(),
    workflows: new Set(),
    commands: new Set(paths.filter((path) => inFolder(path, manifest.folders.commands)).map(stem)),
    agents: new Set([
      ...manifest.agents.map(agentLine),
      ...paths.filter((path) => inFolder(path, manifest.folders.agents)).map(stem),
    ]),
    skills: new Set(paths.filter((path) => basename(path) === "SKILL.md")),
  };
  const uses = new Set<string>();
  const run = [...(manifest.has_modules ? code : []), ...manifest.tools.map((tool) => tool.command)];
  for (const path of paths.filter((candidate) => run.includes(candidate) || run.includes(`./${candidate}`))) {
    // What cannot be read, such as a link to nothing, is not loaded either.
    const bytes = await readRegular(join(dir, path)).catch(() => null);
    const text = bytes?.subarray(0, maxScanned).toString("utf8") ?? "";
    for (const { key, pattern } of patterns) for (const match of text.matchAll(pattern)) found[key].add(match[1] ?? "");
    for (const { use, pattern } of reaches) if (pattern.test(text)) uses.add(use);
  }
  const settings = Object.entries(manifest.config_schema);
  return {
    modules,
    hooks: sorted(found.hooks),
    tools: sorted(found.tools),
    workflows: sorted(found.workflows),
    commands: sorted(found.commands),
    executables: manifest.tools.map(
      (tool) => `${tool.name}: ${[tool.command, ...tool.args].join(" ")} (${tool.permission})`,
    ),
    agents: sorted(found.agents),
    skills: sorted(found.skills),
    scripts: paths.filter((path) => /^_install\.[cm]?[jt]s$/.test(path)),
    cleanups: paths.filter((path) => /^_uninstall\.[cm]?[jt]s$/.test(path)),
    secrets: settings.filter(([key, setting]) => setting.secret || key.endsWith("_env")).map(([key]) => key),
    uses: sorted(uses),
  };
}

/** Lines for people; empty kinds are omitted. */
export function capabilityLines(capabilities: Capabilities): string[] {
  return keys().flatMap((key) => {
    const values = capabilities[key];
    return values.length === 0 ? [] : [`${capabilityTitles[key].padEnd(18)} ${shorten(values)}`];
  });
}

/** What another version would add and remove. Empty if the capabilities are the same. */
export function compareCapabilities(before: Capabilities, after: Capabilities): string[] {
  return keys().flatMap((key) => {
    const title = capabilityTitles[key];
    return [
      ...after[key].filter((value) => !before[key].includes(value)).map((value) => `+ ${title}: ${value}`),
      ...before[key].filter((value) => !after[key].includes(value)).map((value) => `- ${title}: ${value}`),
    ];
  });
}

function keys(): (keyof Capabilities)[] {
  return Object.keys(capabilityTitles) as (keyof Capabilities)[];
}

const shownAtMost = 12;

function shorten(values: readonly string[]): string {
  const more = values.length - shownAtMost;
  return values.slice(0, shownAtMost).join(", ") + (more > 0 ? `, and ${more} more` : "");
}

function agentLine(agent: unknown): string {
  if (typeof agent !== "object" || agent === null) return String(agent);
  const { name, permission, harness } = agent as Record<string, unknown>;
  const more = [permission, harness].filter((value) => typeof value === "string");
  return `${String(name ?? "without a name")}${more.length === 0 ? "" : ` (${more.join(", ")})`}`;
}

function inFolder(path: string, folders: readonly string[]): boolean {
  return path.endsWith(".md") && folders.some((folder) => path.startsWith(`${folder}/`));
}

function stem(path: string): string {
  return basename(path, ".md");
}

function sorted(values: ReadonlySet<string>): string[] {
  return [...values].sort();
}
