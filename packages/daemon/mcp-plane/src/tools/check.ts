/** The check that an agent names for work that it delegates. */
import { type CheckInput, checkInputSchema, checkOf, type NamedCheck } from "@aegis/contract/check.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { AgentCommands } from "@aegis/hooks/agent-commands.ts";
import type { AgentToolContext } from "@aegis/sessions/tools/tools.ts";

export const checkArgument = checkInputSchema
  .optional()
  .describe("a command that Aegis runs when it says that it is done; it must succeed, as in npm test");

/** Throws `forbidden` unless the agent may run the command itself: by its rights, by the gates, or because a person approves it now. */
export async function agentCheck(
  given: CheckInput | undefined,
  { agent, caller, signal }: AgentToolContext,
  commands: AgentCommands,
): Promise<NamedCheck | undefined> {
  if (given === undefined) return undefined;
  const check = checkOf(given);
  const { command, max_retries } = check;
  const title = `${agent.slug} wants Aegis to run this when the work is done, at most ${max_retries + 1} times: ${command}`;
  const refusal = await commands.refusal({ session: caller.id, agent, command, title }, signal);
  if (refusal !== null) throw new AegisError("forbidden", `refused: ${refusal}`);
  return { ...check, by: "agent" };
}
