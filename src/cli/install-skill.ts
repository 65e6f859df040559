/** Installing with a person in between: what is suspicious is shown, and only what was shown can be accepted. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isAegisError } from "../contract/errors.ts";
import type { FetchedSkill, InstallOutcome, SkillFinding } from "../contract/skill-install.ts";
import type { CliContext } from "./context.ts";

export type Attempt = (accept: { accept?: string }) => Promise<InstallOutcome>;

/** `decide` is asked again when the source changed meanwhile. */
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

/** The daemon's folder is not the one a path was typed in. */
export function absoluteSource(source: string, cx: Pick<CliContext, "cwd" | "env">): string {
  if (/^~(?:\/|$)/.test(source)) return join(cx.env.HOME ?? homedir(), source.slice(1));
  return /^\.{1,2}(?:\/|$)/.test(source) ? resolve(cx.cwd, source) : source;
}

/** What was found in a skill that was refused. */
export function refusedFindings(error: unknown): SkillFinding[] {
  const details: unknown = isAegisError(error) ? error.details : null;
  if (typeof details !== "object" || details === null || !("findings" in details)) return [];
  return Array.isArray(details.findings) ? details.findings : [];
}
