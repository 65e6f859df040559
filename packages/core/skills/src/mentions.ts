/** Finds skills that a message calls by name: `/skill name …`, `/name …` at its start, `$name` anywhere. */
import { didYouMean } from "@aegis/lib/nearest.ts";
import { commandOf, type SkillOutline, skillKey } from "./skill.ts";

export type Mention = {
  skill: SkillOutline;
  /** The text after a slash command; null for a mention. */
  arguments: string | null;
};

export type Mentions = {
  found: Mention[];
  /** The message for an unknown name after `/skill`. */
  problem: string | null;
};

/** A text with more mentions names them for another reason. */
const mostMentions = 8;

export class SkillNames {
  readonly #byName = new Map<string, SkillOutline>();

  constructor(skills: readonly SkillOutline[]) {
    // Names take precedence over commands, which may be ambiguous.
    for (const skill of skills) {
      this.#add(skillKey(skill.name), skill);
      if (skill.plugin !== null) this.#add(`${skill.plugin}:${skillKey(skill.name)}`, skill);
    }
    for (const skill of skills) this.#add(commandOf(skill.name), skill);
  }

  find(name: string): SkillOutline | undefined {
    return this.#byName.get(skillKey(name));
  }

  get all(): Iterable<string> {
    return this.#byName.keys();
  }

  #add(name: string, skill: SkillOutline): void {
    if (name !== "" && !this.#byName.has(name)) this.#byName.set(name, skill);
  }
}

export function findMentions(text: string, names: SkillNames): Mentions {
  const found = new Map<SkillOutline, Mention>();
  const slash = /^\s*\/(skill[ \t]+)?([^\s/]+)(?:[ \t]*\n|[ \t]+|$)([\s\S]*)$/.exec(text);
  const [, explicit, name = "", rest = ""] = slash ?? [];
  let problem: string | null = null;
  if (slash !== null) {
    const skill = names.find(name);
    if (skill?.userInvocable === true) found.set(skill, { skill, arguments: rest.trim() });
    else if (explicit !== undefined)
      problem =
        skill === undefined
          ? `there is no skill "${name}"${didYouMean(name, names.all)}`
          : `the skill "${skill.name}" is for agents only`;
  }
  for (const [, mark, word = ""] of text.matchAll(/(\\?)\$([A-Za-z][-\w:]*)/g)) {
    // Upper-case names are shell variables.
    if (mark === "\\" || word === word.toUpperCase() || found.size >= mostMentions) continue;
    const skill = names.find(word.replace(/[-:]+$/, ""));
    if (skill?.userInvocable === true && !found.has(skill)) found.set(skill, { skill, arguments: null });
  }
  return { found: [...found.values()], problem };
}
