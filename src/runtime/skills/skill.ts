/** A skill as it was read: everything about it but its text, which is read when it is needed. */
import type { SkillSource } from "../../contract/skill.ts";

export type SkillNeeds = {
  /** Platforms it runs on; any when empty. */
  os: readonly string[];
  /** Programs, variables and settings do not matter. */
  always: boolean;
  bins: readonly string[];
  anyBins: readonly string[];
  env: readonly string[];
  config: readonly string[];
  /** The variable that holds its main key. */
  primaryEnv: string | null;
};

export type Skill = {
  name: string;
  description: string;
  /** More words about when it fits. */
  whenToUse: string;
  source: SkillSource;
  plugin: string | null;
  file: string | null;
  /** Where its files are; null for one that is a single page. */
  folder: string | null;
  /** The text of one that has no file. */
  text: string | null;
  needs: SkillNeeds;
  modelInvocable: boolean;
  userInvocable: boolean;
  allowedTools: readonly string[];
  context: "inline" | "fork";
  /** The agent that runs it when it is forked. */
  forkAgent: string | null;
  /** The agent that messages about it go to. */
  agent: string | null;
  argumentHint: string | null;
  argumentNames: readonly string[];
  homepage: string | null;
  license: string | null;
};

/** Two skills are the same when only capitals and blanks tell their names apart. */
export function skillKey(name: string): string {
  return name
    .normalize("NFKC")
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, "-");
}

/** What follows the slash: short, and nothing but letters, digits, - and _. */
export function commandOf(name: string): string {
  return skillKey(name)
    .replace(/[^\p{L}\p{N}_:-]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64);
}
