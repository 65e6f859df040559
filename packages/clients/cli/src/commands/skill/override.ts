/** Overriding what the scan calls malicious: only a person can, and only by the name of each rule. */
import { ownerVariable } from "@aegis/lib/process/marks.ts";
import { usageError } from "../../program/failure.ts";
import { typed } from "../../terminal/confirm.ts";
import type { CliContext } from "../../terminal/context.ts";

/**
 * The rules that the person overrides: those of the option, or those typed at the terminal after the findings were
 * shown. Throws in a process that a daemon started, directly or through an agent, a hook or a workflow.
 */
export async function overriddenRules(
  cx: CliContext,
  given: readonly string[],
  refusing: readonly string[],
): Promise<readonly string[]> {
  const rules = given.length === 0 && cx.interactive ? await typedRules(cx, refusing) : given;
  if (rules.length > 0) requirePerson(cx.env);
  return rules;
}

export function requirePerson(env: CliContext["env"]): void {
  if ((env[ownerVariable] ?? "") !== "")
    throw usageError("only a person can override malicious findings, and this command runs in an agent's process");
}

async function typedRules(cx: CliContext, refusing: readonly string[]): Promise<string[]> {
  cx.warn("Aegis refuses this content as malicious. If you have read the lines above, you can override each rule.");
  const question = `Type ${refusing.join(" ")} to install it anyway, or press Enter to cancel:`;
  return (await typed(cx, question)).split(/[\s,]+/).filter((rule) => rule !== "");
}
