/** Reads a skill's requirements and agent from any of the usual metadata keys. */
import { readYaml } from "@aegis/lib/frontmatter.ts";
import type { SkillNeeds } from "./skill.ts";

/** In order of precedence. Each runtime that reads these files introduced its own key. */
const metadataKeys = ["aegis", "openclaw", "clawdbot", "moltbot", "clawdis", "conduit"] as const;

export type Metadata = { needs: SkillNeeds; agent: string | null; homepage: string | null; problems: string[] };

type Fields = Readonly<Record<string, unknown>>;

/**
 * `value` is a map, or text that contains one. Never throws. Unreadable metadata is a problem; if it is or may contain
 * a requirement, the skill counts as not meeting it.
 */
export function readMetadata(value: unknown, topLevel: Fields): Metadata {
  const problems: string[] = [];
  const unreadable: string[] = [];
  const fail = (problem: string, hidesNeeds: boolean) => {
    problems.push(problem);
    if (hidesNeeds) unreadable.push(`what it needs cannot be read: ${problem}`);
  };
  const all = asMap(value);
  if (value !== undefined && value !== null && all === null)
    fail("metadata: expected a map, or text that holds one; it was left out", mentionsNeeds(value));
  const blocks: Fields[] = [];
  for (const key of metadataKeys) {
    const found = own(all ?? {}, key);
    const block = asMap(found);
    if (block !== null) blocks.push(block);
    else if (found !== undefined) fail(`metadata.${key}: expected a map`, true);
  }
  // Some authors write the requirements at the top level without the key.
  const loose = [all ?? {}, topLevel].filter((block) => needKeys.some((key) => own(block, key) !== undefined));
  blocks.push(...loose);
  const first = (name: string) => blocks.map((block) => own(block, name)).find((found) => found !== undefined);
  const list = (found: unknown, name: string) => textList(found, name, (problem) => fail(problem, true));
  const os = list(first("os"), "os").map(platformOf);
  const always = isTrue(first("always"));
  const needs: Record<(typeof requireKeys)[number], string[]> = { bins: [], anyBins: [], env: [], config: [] };
  for (const block of blocks) {
    const found = own(block, "requires");
    if (found === undefined || always) continue;
    const requires = asMap(found);
    if (requires === null) fail("requires: expected a map with bins, anyBins, env or config", true);
    for (const [key, value] of Object.entries(requires ?? {})) {
      const known = requireKeys.find((one) => one === key);
      if (known !== undefined) needs[known].push(...list(value ?? undefined, known));
      else if (!isEmpty(value)) fail(`requires.${key.slice(0, 40)}: expected bins, anyBins, env or config`, true);
    }
  }
  return {
    needs: {
      os: os.includes("any") ? [] : os,
      always,
      bins: [...new Set(needs.bins)],
      anyBins: [...new Set(needs.anyBins)],
      env: [...new Set(needs.env)],
      config: [...new Set(needs.config)],
      primaryEnv: textOf(first("primaryEnv")),
      unreadable,
    },
    // Routing is an Aegis feature: other runtimes use `agent` with another meaning.
    agent: agentOf(asMap(own(all ?? {}, "aegis"))) ?? agentOf(asMap(own(all ?? {}, "conduit"))),
    homepage: textOf(first("homepage")),
    problems,
  };
}

const requireKeys = ["bins", "anyBins", "env", "config"] as const;
const needKeys = ["requires", "os"] as const;

/** Whether a value that is not a map may have been meant to contain requirements. */
function mentionsNeeds(value: unknown): boolean {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^\s*[{[]|\b(?:requires|bins|anyBins|os|env|config|always|primaryEnv)\b/i.test(text);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function agentOf(block: Fields | null): string | null {
  return block === null ? null : textOf(own(block, "agent"));
}

function asMap(value: unknown): Fields | null {
  if (typeof value === "string") {
    if (!/^\s*\{/.test(value)) return null;
    const loose = parseLooseJson(value);
    return asMap(loose === undefined ? readYaml(`value: ${value}`, 0).fields.value : loose);
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function own(map: Fields, key: string): unknown {
  return Object.hasOwn(map, key) ? (map[key] ?? undefined) : undefined;
}

/** A single text counts as a list with one item. */
function textList(value: unknown, name: string, fail: (problem: string) => void): string[] {
  if (value === undefined) return [];
  const items = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : null;
  if (items === null || !items.every((item) => typeof item === "string" || typeof item === "number")) {
    fail(`metadata: expected ${name} to be a list of names; the rest is left out`);
    return (items ?? []).filter((item) => typeof item === "string");
  }
  return items.map((item) => String(item).trim()).filter((item) => item !== "");
}

const platforms: Readonly<Record<string, string>> = {
  macos: "darwin",
  mac: "darwin",
  osx: "darwin",
  windows: "win32",
  win: "win32",
  any: "any",
  all: "any",
  "*": "any",
};

function platformOf(name: string): string {
  const lower = name.toLowerCase();
  return platforms[lower] ?? lower;
}

export function textOf(value: unknown): string | null {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

/** True values of YAML 1.1 and common spellings. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === "string" && /^(?:true|yes|on|1)$/i.test(value.trim()));
}

/** Lenient JSON, with comments, single quotes, bare keys and trailing commas. Undefined if it cannot be parsed. */
function parseLooseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(strict(text));
    } catch {
      return undefined;
    }
  }
}

const token =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|,(?=\s*[\]}])|[A-Za-z_$][\w$-]*(?=\s*:)/g;

/** Converts token by token, so that string content is never treated as syntax. */
function strict(text: string): string {
  return withoutLastCommas(
    text.replace(token, (part) => {
      if (part.startsWith("//") || part.startsWith("/*")) return " ";
      if (part.startsWith("'")) return JSON.stringify(part.slice(1, -1).replace(/\\(['"])/g, "$1"));
      if (part.startsWith('"')) return part;
      return part === "," ? "" : JSON.stringify(part);
    }),
  );
}

/** A comment may have been between a comma and the bracket. */
function withoutLastCommas(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[\]}])/g, (part) => (part === "," ? "" : part));
}
