/** Refuses packages with malicious findings. The only override: a person names each rule that found something. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { RefusedPackage, SkillFinding } from "@aegis/contract/skill-install.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";

export type ScannedPackage = { name: string; hash: string; findings: readonly SkillFinding[] };

export type Override = {
  /** The rules that the person named. */
  rules: readonly string[];
  /** Whether an agent requests the package. Agents cannot override. */
  byAgent: boolean;
};

/** The rules with malicious findings. */
export function maliciousRules(findings: readonly SkillFinding[]): string[] {
  return [...new Set(malicious(findings).map(({ rule }) => rule))];
}

/** Throws `forbidden` unless a person named every rule that found malicious content. */
export function refuseMalicious({ name, hash, findings }: ScannedPackage, { rules, byAgent }: Override): void {
  const found = maliciousRules(findings);
  const open = found.filter((rule) => byAgent || !rules.includes(rule));
  if (open.length === 0) return;
  const first = malicious(findings).slice(0, 3);
  const lines = first.map(({ file, line, message, rule }) => `${file}:${line ?? 1} ${message} (${rule})`);
  const details: RefusedPackage = { findings: [...findings], overridable: byAgent ? null : { rules: found, hash } };
  throw new AegisError("forbidden", `"${name}" is refused: ${lines.join("; ")}`, { hint: hint(), details });

  function hint(): string {
    if (byAgent) return "only a person can override a finding; tell the person what it is and where";
    const [wrong] = rules.filter((rule) => !found.includes(rule));
    if (wrong !== undefined) return `no malicious finding has the rule "${wrong}"${didYouMean(wrong, open)}`;
    const flags = open.map((rule) => `--override-malicious ${rule}`).join(" ");
    return `a person who has read these lines can override ${open.length === 1 ? "the rule" : "each rule"} by name: ${flags}`;
  }
}

/** What a person overrode, for the lockfile and the event: `rule file:line`. Undefined if nothing was malicious. */
export function overriddenIn(findings: readonly SkillFinding[]): { overridden?: string[] } {
  const worst = malicious(findings);
  if (worst.length === 0) return {};
  return { overridden: worst.map(({ rule, file, line }) => `${rule} ${file ?? ""}:${line ?? 1}`) };
}

function malicious(findings: readonly SkillFinding[]): SkillFinding[] {
  return findings.filter(({ severity }) => severity === "malicious");
}
