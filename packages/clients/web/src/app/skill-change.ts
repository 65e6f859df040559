/** Installs and updates of skills: findings need consent, and a person overrides a refusal by naming its rules. */
import type { InstallOutcome } from "@aegis/contract/skill-install.ts";
import { useChange } from "./consent.ts";
import type { RefusedAnswer } from "./refusal.ts";

export function useSkillChange() {
  return useChange<InstallOutcome | RefusedAnswer>((answer) => {
    if (answer.outcome === "consent") return answer.skill.hash;
    return answer.outcome === "refused" ? (answer.refused.overridable?.hash ?? "") : null;
  });
}
