import type { SkillFinding } from "@aegis/contract/skill-install.ts";

/** Whether every malicious finding is in a quoted example, a test or a reference. */
export function onlyQuoted(findings: readonly SkillFinding[]): boolean {
  const worst = findings.filter(({ severity }) => severity === "malicious");
  return worst.length > 0 && worst.every(({ quoted }) => quoted === true);
}
