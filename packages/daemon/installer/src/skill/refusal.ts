/** Refuses malicious skills. The only override: a person types the name of a skill whose findings are all quoted. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { FetchedSkill, RefusedSkill } from "@aegis/contract/skill-install.ts";
import { onlyQuoted } from "../scan/verdict.ts";

export type Override = {
  /** The hash whose findings a person has seen. */
  accept: string | null;
  /** The name that the person typed. */
  override: string | null;
  /** Whether an agent requests the skill. Agents cannot override. */
  byAgent: boolean;
};

/**
 * Throws `forbidden` unless nothing malicious was found, or a person may and does override it for this exact content.
 */
export function refuseMalicious(skill: FetchedSkill, { accept, override, byAgent }: Override): void {
  if (skill.verdict !== "malicious") return;
  const overridable = onlyQuoted(skill.findings) && !byAgent;
  if (overridable && override === skill.name && accept === skill.hash) return;
  throw refusal(skill, overridable, override);
}

/** The overridden findings, for the lockfile. */
export function overriddenFindings({ verdict, findings }: FetchedSkill): string[] | null {
  if (verdict !== "malicious") return null;
  return findings
    .filter(({ severity }) => severity === "malicious")
    .map(({ rule, file, line }) => `${rule} ${file ?? ""}:${line ?? 1}`);
}

function refusal({ name, hash, findings }: FetchedSkill, overridable: boolean, override: string | null): AegisError {
  const worst = findings.filter(({ severity }) => severity === "malicious");
  const first = worst.slice(0, 3).map(({ file, line, message }) => `${file}:${line ?? 1} ${message}`);
  const details: RefusedSkill = { findings, overridable: overridable ? { name, hash } : null };
  return new AegisError("forbidden", `"${name}" is refused: ${first.join("; ")}`, { hint: hintFor(), details });

  function hintFor(): string {
    if (!overridable) return "nothing overrides this; read the files yourself if you want to know more";
    if (override !== null && override !== name)
      return `to override the refusal, name the skill exactly: "${name}", not "${override}"`;
    return "it is only quoted, in examples, tests or references; a person who has read it can override the refusal with --override-malicious and the skill's name";
  }
}
