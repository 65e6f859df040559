/** An agent's tools as the flags of the Claude Code CLI. The plane hides and refuses its own, whatever is said here. */
import type { Agent } from "../../contract/agent.ts";
import { claudeNames, parseToolEntry, planeServer } from "../../contract/tool-names.ts";

export function scopeArguments(
  agent: Pick<Agent, "tools" | "deny_tools" | "permission" | "max_turns">,
  hasPlane: boolean,
): string[] {
  const denied = agent.deny_tools.flatMap((text) => rulesFor(text));
  const { offered, approved } = offer(agent);
  const allowed = [...(hasPlane ? [`mcp__${planeServer}`] : []), ...approved];
  return [
    ...(offered === null ? [] : ["--tools", offered.join(",")]),
    ...(allowed.length === 0 ? [] : ["--allowedTools", allowed.join(",")]),
    ...(denied.length === 0 ? [] : ["--disallowedTools", denied.join(",")]),
    ...(agent.max_turns === null ? [] : ["--max-turns", String(agent.max_turns)]),
  ];
}

/** What the CLI offers the model, null for everything; and the parts of tools that it need not ask about. */
function offer({ tools, permission }: Pick<Agent, "tools" | "permission">): {
  offered: string[] | null;
  approved: string[];
} {
  if (tools === null || tools.includes("*")) return { offered: null, approved: [] };
  const whole = tools.filter((text) => parseToolEntry(text).limit === null);
  // The CLI asks about the rest of such a tool. With full rights it asks about nothing, so there it gets none of it.
  const parts = permission === "full" ? [] : tools.filter((text) => parseToolEntry(text).limit !== null);
  return {
    offered: [...new Set([...whole, ...parts].flatMap((text) => claudeNames(text)))],
    approved: parts.flatMap((text) => rulesFor(text)),
  };
}

function rulesFor(text: string): string[] {
  const { limit } = parseToolEntry(text);
  const [first, ...more] = claudeNames(text);
  if (first === undefined) return [];
  return limit === null ? [first, ...more] : [`${first}(${limit})`];
}
