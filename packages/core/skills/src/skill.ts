/** A parsed skill without its text, which is read on demand. */
import type { SkillSource } from "@aegis/contract/skill.ts";

export type SkillNeeds = {
  /** The supported platforms; any if empty. */
  os: readonly string[];
  /** Ignores requirements for programs, variables and settings. */
  always: boolean;
  bins: readonly string[];
  anyBins: readonly string[];
  env: readonly string[];
  config: readonly string[];
  /** The variable of its main API key. */
  primaryEnv: string | null;
  /** Descriptions of requirements that cannot be parsed. They count as not met. */
  unreadable: readonly string[];
};

export type SkillOutline = {
  name: string;
  description: string;
  /** Additional text about when to use it. */
  whenToUse: string;
  /** The author's tags, triggers and similar keywords. */
  keywords: string;
  source: SkillSource;
  plugin: string | null;
  file: string | null;
  /** The folder of its files; null for a single page. */
  folder: string | null;
  /** The text of a skill without a file. */
  text: string | null;
  needs: SkillNeeds;
  modelInvocable: boolean;
  userInvocable: boolean;
  allowedTools: readonly string[];
  context: "inline" | "fork";
  /** The agent that runs it in a subagent. */
  forkAgent: string | null;
  /** The agent to which messages about it are routed. */
  agent: string | null;
  argumentHint: string | null;
  argumentNames: readonly string[];
  homepage: string | null;
  license: string | null;
};

/** The name that a skill uses for the default agent of the project. */
export const projectDefaultAgent = "default";

/** Names that differ only in case and blanks mean the same skill. */
export function skillKey(name: string): string {
  return name
    .normalize("NFKC")
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, "-");
}

/** The slash command: short, only letters, digits, - and _. */
export function commandOf(name: string): string {
  return skillKey(name)
    .replace(/[^\p{L}\p{N}_:-]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64);
}
