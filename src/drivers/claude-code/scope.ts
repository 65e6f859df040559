/** An agent's tools as the flags of the Claude Code CLI. The plane hides and refuses its own, whatever is said here. */
import type { Agent } from "../../contract/agent.ts";
import { claudeNames, parseToolEntry, planeServer } from "../../contract/tool-names.ts";

export function scopeArguments(
  agent: Pick<Agent, "tools" | "deny_tools" | "within" | "permission" | "max_turns">,
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
function offer({ tools: own, within = [], permission }: Pick<Agent, "tools" | "within" | "permission">): {
  offered: string[] | null;
  approved: string[];
} {
  const ceilings = within.filter((names) => !names.includes("*")).map(wholeTools);
  const isWithin = (name: string) => ceilings.every((names) => names.has(name));
  const isAll = own === null || own.includes("*");
  if (isAll && ceilings.length === 0) return { offered: null, approved: [] };
  const tools = isAll ? [...(ceilings[0] ?? [])] : own.filter((text) => claudeNames(text).some(isWithin));
  const whole = tools.filter((text) => parseToolEntry(text).limit === null);
  // The CLI asks about the rest of such a tool. With full rights it asks about nothing, so there it gets none of it.
  const parts = permission === "full" ? [] : tools.filter((text) => parseToolEntry(text).limit !== null);
  return {
    offered: [...new Set([...whole, ...parts].flatMap((text) => claudeNames(text)))].filter(isWithin),
    approved: parts.flatMap((text) => rulesFor(text)),
  };
}

/** A part of a tool is not the tool. */
function wholeTools(names: readonly string[]): Set<string> {
  return new Set(names.filter((text) => parseToolEntry(text).limit === null).flatMap((text) => claudeNames(text)));
}

function rulesFor(text: string): string[] {
  const { limit } = parseToolEntry(text);
  const [first, ...more] = claudeNames(text);
  if (first === undefined) return [];
  return limit === null ? [first, ...more] : [`${first}(${limit})`];
}
