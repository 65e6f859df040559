/** Messages about invalid or unknown agent names. */
import { type AgentProfile, slugMaxLength, slugPattern } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";

/** The problem of a session whose agent no longer exists. The remedy is the same for all such sessions. */
export function missingAgent(ref: string): string {
  return `its agent "${ref}" no longer exists: add it to the configuration again, or close the session`;
}

/** The name may be correct but declared in files that were rejected. */
export function rejectedConfig(ref: string, problems: readonly string[]): AegisError {
  const lines = problems.map((problem) => `\n  ${problem}`).join("");
  return new AegisError(
    "not_found",
    `no agent "${ref}" in the current configuration; the changed one was rejected:${lines}`,
    { hint: "correct it: the running daemon reads it again immediately", details: { problems: [...problems] } },
  );
}

/** Names become paths, pool keys and command-line words, so every name is validated, regardless of its source. */
export function checkName({ slug, plugin }: AgentProfile): void {
  if (slug.length > slugMaxLength || !slugPattern.test(slug))
    throw new AegisError("invalid", `"${slug.slice(0, 80)}" is not a valid agent name`, {
      hint: `expected lower-case letters and digits joined by - or _, at most ${slugMaxLength}`,
    });
  if (plugin !== null && (plugin === "" || /[:/\\\0]/.test(plugin)))
    throw new AegisError("invalid", `"${plugin.slice(0, 80)}" is not a valid plugin name`);
}
