/** Installs a skill with the user's consent: shows suspicious findings, and accepts only what was shown. */
import { join, resolve } from "node:path";
import { isAegisError } from "@aegis/contract/errors.ts";
import {
  type FetchedSkill,
  type InstallOutcome,
  type RefusedSkill,
  refusedSkillSchema,
} from "@aegis/contract/skill-install.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { ownerVariable } from "@aegis/lib/process/marks.ts";
import type { CliContext } from "../../terminal/context.ts";

export type Attempt = (accept: { accept?: string; override?: string }) => Promise<InstallOutcome>;

/** Calls `decide` again if the source changed in the meantime. */
export async function withConsent(
  attempt: Attempt,
  decide: (skill: FetchedSkill) => Promise<boolean>,
): Promise<InstallOutcome> {
  let result = await attempt({});
  while (result.outcome === "consent") {
    if (!(await decide(result.skill))) return result;
    result = await attempt({ accept: result.skill.hash });
  }
  return result;
}

/** Resolves the path here, because the daemon's working folder differs. */
export function absoluteSource(source: string, cx: Pick<CliContext, "cwd" | "env">): string {
  if (/^~(?:\/|$)/.test(source)) return join(homeOf(cx.env), source.slice(1));
  return /^\.{1,2}(?:\/|$)/.test(source) ? resolve(cx.cwd, source) : source;
}

/** The refused skill that an error describes; null for any other error. */
export function refusedSkill(error: unknown): RefusedSkill | null {
  const read = refusedSkillSchema.safeParse(isAegisError(error) ? error.details : null);
  return read.success ? read.data : null;
}

/** Whether a daemon started this process, directly or through an agent, a hook or a workflow. */
export function startedByDaemon(env: CliContext["env"]): boolean {
  return (env[ownerVariable] ?? "") !== "";
}
