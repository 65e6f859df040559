/** What the findings of a scan mean together. Separate from the scan, whose rules are large. */
import type { FindingSeverity, SkillFinding } from "@aegis/contract/skill-install.ts";

export type Verdict = "clean" | FindingSeverity;

/** Most severe first. */
export const severities: readonly FindingSeverity[] = ["malicious", "suspicious", "note"];

export function verdictOf(findings: readonly SkillFinding[]): Verdict {
  return severities.find((severity) => findings.some((finding) => finding.severity === severity)) ?? "clean";
}
