/** Converts an agent's tools to flags of the Claude Code CLI. The plane hides and refuses its own tools in any case. */
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

/** The tools that the CLI offers the model (null for all), and the tool rules about which it need not ask. */
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
  // The CLI asks about the other uses of such a tool. With `full` it never asks, so there the tool is not offered.
  const parts = permission === "full" ? [] : tools.filter((text) => parseToolEntry(text).limit !== null);
  return {
    offered: [...new Set([...whole, ...parts].flatMap((text) => claudeNames(text)))].filter(isWithin),
    approved: parts.flatMap((text) => rulesFor(text)),
  };
}

/** A rule for a part of a tool does not include the whole tool. */
function wholeTools(names: readonly string[]): Set<string> {
  return new Set(names.filter((text) => parseToolEntry(text).limit === null).flatMap((text) => claudeNames(text)));
}

function rulesFor(text: string): string[] {
  const { limit } = parseToolEntry(text);
  const [first, ...more] = claudeNames(text);
  if (first === undefined) return [];
  return limit === null ? [first, ...more] : [`${first}(${limit})`];
}
