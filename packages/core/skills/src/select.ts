/** Selects the skills for a turn's messages: those that they name, then those that match. */
import type { Message, Sender } from "@aegis/contract/message.ts";
import type { SkillHow } from "@aegis/contract/skill.ts";
import type { Classifier } from "./classify.ts";
import { findMentions, type Mention } from "./mentions.ts";
import type { SkillOutline } from "./skill.ts";
import type { AgentSkills } from "./skills.ts";

export type NamedSkill = Mention & {
  message: Message;
  /** A person named it, directly or in something that a person set up. */
  byPerson: boolean;
};

export type SelectedSkills = {
  named: NamedSkill[];
  about: { skill: SkillOutline; how: Extract<SkillHow, "matched" | "classified"> }[];
  /** Skills that may fit, best first; empty if a skill was selected. */
  candidates: SkillOutline[];
  problems: string[];
};

export async function selectSkills(
  messages: readonly Message[],
  { listed, names, matcher }: AgentSkills,
  options: { most: number; classifier: Classifier; signal: AbortSignal },
): Promise<SelectedSkills> {
  const selected: SelectedSkills = { named: [], about: [], candidates: [], problems: [] };
  const asking = messages.filter(({ sender }) => asksForWork(sender));
  for (const message of asking) {
    const byPerson = speaksForPerson(message.sender);
    const { found, problem } = findMentions(message.body, names);
    if (problem !== null && byPerson) selected.problems.push(problem);
    // Only a person may call a skill that is hidden from models.
    for (const mention of found)
      if (byPerson || mention.skill.modelInvocable) selected.named.push({ ...mention, message, byPerson });
  }
  const text = asking.map((message) => message.body).join("\n\n");
  if (options.most === 0 || text === "") return selected;
  const named = new Set(selected.named.map(({ skill }) => skill));
  const open = new Set(listed.filter((skill) => skill.context === "inline" && !named.has(skill)));
  const matches = matcher.match(text).filter(({ skill }) => open.has(skill));
  const ranked = new Set([...matches.map(({ skill }) => skill), ...open]);
  const chosen = await options.classifier.choose(text, [...ranked], options.signal);
  selected.about =
    chosen === null
      ? matches.filter(({ strong }) => strong).map(({ skill }) => ({ skill, how: "matched" }))
      : chosen.map((skill) => ({ skill, how: "classified" }));
  selected.about = selected.about.slice(0, Math.max(0, options.most));
  if (selected.about.length === 0 && selected.named.length === 0)
    selected.candidates = matches.filter(({ related }) => related).map(({ skill }) => skill);
  return selected;
}

/** A notification about a result requests no work. */
function asksForWork(sender: Sender): boolean {
  if (sender.kind === "queue" || sender.kind === "workflow") return sender.status === null;
  return sender.kind !== "substrate";
}

function speaksForPerson(sender: Sender): boolean {
  return sender.kind !== "agent" && sender.kind !== "group";
}
