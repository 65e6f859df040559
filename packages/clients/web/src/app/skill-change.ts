/** Installs and updates of skills: findings need consent, and a refusal of quoted text can be overridden by name. */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { InstallOutcome, RefusedSkill, SkillFinding } from "@aegis/contract/skill-install.ts";
import { useChange } from "./consent.ts";

/** A refused skill is an answer here, so that its findings can be shown. */
export type SkillAnswer = InstallOutcome | { outcome: "refused"; message: string; refused: RefusedSkill };

export function useSkillChange() {
  return useChange<SkillAnswer>((answer) => {
    if (answer.outcome === "consent") return answer.skill.hash;
    return answer.outcome === "refused" ? (answer.refused.overridable?.hash ?? "") : null;
  });
}

export async function skillAnswer(request: Promise<InstallOutcome>): Promise<SkillAnswer> {
  try {
    return await request;
  } catch (error) {
    const refused = isAegisError(error) ? refusedOf(error.details) : null;
    if (refused === null || !isAegisError(error)) throw error;
    return { outcome: "refused", message: error.message, refused };
  }
}

function refusedOf(details: unknown): RefusedSkill | null {
  if (typeof details !== "object" || details === null || !("findings" in details)) return null;
  const { findings, overridable = null } = details as { findings: unknown; overridable?: RefusedSkill["overridable"] };
  return Array.isArray(findings) ? { findings: findings as SkillFinding[], overridable } : null;
}
