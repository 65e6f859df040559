/** A package that was refused as malicious is an answer here, so that a person can read the lines and override the rules. */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { RefusedPackage, SkillFinding } from "@aegis/contract/skill-install.ts";

export type RefusedAnswer = { outcome: "refused"; message: string; refused: RefusedPackage };

export async function orRefused<T>(request: Promise<T>): Promise<T | RefusedAnswer> {
  try {
    return await request;
  } catch (error) {
    const refused = isAegisError(error) ? refusedOf(error.details) : null;
    if (refused === null || !isAegisError(error)) throw error;
    return { outcome: "refused", message: error.message, refused };
  }
}

function refusedOf(details: unknown): RefusedPackage | null {
  if (typeof details !== "object" || details === null || !("findings" in details)) return null;
  const { findings, overridable = null } = details as {
    findings: unknown;
    overridable?: RefusedPackage["overridable"];
  };
  return Array.isArray(findings) ? { findings: findings as SkillFinding[], overridable } : null;
}
