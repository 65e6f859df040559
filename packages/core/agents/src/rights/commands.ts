/** Decides whether Aegis may run a command that an agent chose. */
import { type ScopedAgent, type ScopedTool, scopeOf } from "@aegis/contract/tool-access.ts";
import type { PermissionAnswer, PermissionRequest } from "@aegis/drivers/driver.ts";

/**
 * Every command that an agent causes is judged as a call to `bash`, whichever tool, workflow or route named it: a right
 * to give away work or to start workflows is no right to run commands.
 */
const runningCommands: ScopedTool = {
  name: "bash",
  kind: "core",
  plugin: null,
  needs: "write",
  required_agent: null,
  visible_to: [],
};

/** The reason why the agent may not have commands run, or null. */
export function commandRefusal(agent: ScopedAgent): string | null {
  const decision = scopeOf(agent)(runningCommands);
  return decision.allowed ? null : `the agent "${agent.slug}" may not run commands (the tool bash): ${decision.reason}`;
}

/** Asks a person wherever the agent would have to ask for a command of its own. Returns the reason of a refusal. */
export async function approveCommand(
  agent: ScopedAgent,
  { command, title }: { command: string; title: string },
  ask: (request: PermissionRequest) => Promise<PermissionAnswer>,
): Promise<string | null> {
  if (agent.permission === "full") return null;
  const answer = await ask({ call: null, tool: "bash", kind: "execute", input: { command }, title });
  return answer.decision === "deny" ? `the command was not approved (${answer.reason}): ${command}` : null;
}
