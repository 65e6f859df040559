/** Installs a skill with the user's consent: shows suspicious findings, and accepts only what was shown. */
import { join, resolve } from "node:path";
import { isAegisError } from "@aegis/contract/errors.ts";
import {
  type FetchedSkill,
  type InstallOutcome,
  type RefusedPackage,
  refusedPackageSchema,
} from "@aegis/contract/skill-install.ts";
import { homeOf } from "@aegis/lib/home.ts";
import type { CliContext } from "../../terminal/context.ts";

export type InstallAttempt = (accept: { accept?: string; override?: string[] }) => Promise<InstallOutcome>;

export type Decisions = {
  /** Whether the user wants the skill after the findings were shown. Called again if the source changed meanwhile. */
  accept: (skill: FetchedSkill) => Promise<boolean>;
  /** Shows why the skill is refused, and returns the rules that the user overrides. */
  override: (refused: RefusedPackage) => Promise<readonly string[]>;
};

export async function withConsent(attempt: InstallAttempt, decisions: Decisions): Promise<InstallOutcome> {
  let result = await attempt({}).catch(async (error: unknown) => {
    const refused = refusalOf(error);
    if (refused === null) throw error;
    const override = await decisions.override(refused);
    if (refused.overridable === null || override.length === 0) throw error;
    return attempt({ accept: refused.overridable.hash, override: [...override] });
  });
  while (result.outcome === "consent") {
    if (!(await decisions.accept(result.skill))) return result;
    result = await attempt({ accept: result.skill.hash });
  }
  return result;
}

/** Resolves the path here, because the daemon's working folder differs. */
export function absoluteSource(source: string, cx: Pick<CliContext, "cwd" | "env">): string {
  if (/^~(?:\/|$)/.test(source)) return join(homeOf(cx.env), source.slice(1));
  return /^\.{1,2}(?:\/|$)/.test(source) ? resolve(cx.cwd, source) : source;
}

/** The refusal that an error describes; null for any other error. */
function refusalOf(error: unknown): RefusedPackage | null {
  const read = refusedPackageSchema.safeParse(isAegisError(error) ? error.details : null);
  return read.success ? read.data : null;
}
