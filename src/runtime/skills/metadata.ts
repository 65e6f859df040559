/** What a skill says about its needs and its agent, under whichever of the usual keys it says it. */
import { readYaml } from "../../lib/frontmatter.ts";
import { parseLooseJson } from "./json5.ts";
import type { SkillNeeds } from "./skill.ts";

/** The strongest first. Each runtime that reads these files has brought a name of its own. */
export const metadataKeys = ["aegis", "openclaw", "clawdbot", "moltbot", "clawdis", "conduit"] as const;

export type Metadata = { needs: SkillNeeds; agent: string | null; homepage: string | null; problems: string[] };

type Fields = Readonly<Record<string, unknown>>;

/** `value` is a map, or text that holds one. Never throws. */
export function readMetadata(value: unknown, topLevel: Fields): Metadata {
  const problems: string[] = [];
  const all = asMap(value);
  if (value !== undefined && value !== null && all === null)
    problems.push("metadata: expected a map, or text that holds one; it was left out");
  const blocks: Fields[] = metadataKeys.map((key) => asMap(own(all ?? {}, key))).filter((block) => block !== null);
  // Some authors leave the key out and write the needs where everything else stands.
  blocks.push(...[all ?? {}, topLevel].filter((block) => own(block, "requires") !== undefined));
  const first = (name: string) => blocks.map((block) => own(block, name)).find((found) => found !== undefined);
  const list = (found: unknown, name: string) => textList(found, name, problems);
  const requires = blocks.map((block) => asMap(own(block, "requires"))).filter((block) => block !== null);
  const required = (name: string) => [...new Set(requires.flatMap((block) => list(own(block, name), name)))];
  return {
    needs: {
      os: list(first("os"), "os").map(platformOf),
      always: isTrue(first("always")),
      bins: required("bins"),
      anyBins: required("anyBins"),
      env: required("env"),
      config: required("config"),
      primaryEnv: textOf(first("primaryEnv")),
    },
    // Affinity is ours: what other runtimes mean by `agent` is not to whom a message goes.
    agent: agentOf(asMap(own(all ?? {}, "aegis"))) ?? agentOf(asMap(own(all ?? {}, "conduit"))),
    homepage: textOf(first("homepage")),
    problems,
  };
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

/** One text stands for a list of one. */
function textList(value: unknown, name: string, problems: string[]): string[] {
  if (value === undefined) return [];
  const items = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : null;
  if (items === null || !items.every((item) => typeof item === "string" || typeof item === "number")) {
    problems.push(`metadata: expected ${name} to be a list of names; what else was there is left out`);
    return (items ?? []).filter((item) => typeof item === "string");
  }
  return items.map((item) => String(item).trim()).filter((item) => item !== "");
}

const platforms: Readonly<Record<string, string>> = { macos: "darwin", mac: "darwin", osx: "darwin", windows: "win32" };

function platformOf(name: string): string {
  const lower = name.toLowerCase();
  return platforms[lower] ?? lower;
}

export function textOf(value: unknown): string | null {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

/** As YAML 1.1 and people write it. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === "string" && /^(?:true|yes|on|1)$/i.test(value.trim()));
}
