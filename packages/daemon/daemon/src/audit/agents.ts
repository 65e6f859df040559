/** Describes what each agent can do: its tools, whether it needs approval, and the variables of its process. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { Agent, AgentReach, Permission } from "@aegis/contract/agent.ts";
import type { AuditAgent, Leave } from "@aegis/contract/audit.ts";
import type { Decision, ScopedTool } from "@aegis/contract/tool-access.ts";
import { factsOf } from "@aegis/drivers/all.ts";
import { variablesIn } from "@aegis/lib/variables.ts";
import { allTools, scopeNote } from "@aegis/project/agents/describe.ts";
import type { ToolTable } from "@aegis/sessions/tools/tools.ts";

/** What no permission and no gate prevents while agents run as the user. */
export function whatStaysOpen(agents: readonly AuditAgent[], user: string): string[] {
  const that = (run: Leave) =>
    agents
      .filter((one) => one.run === run && one.refused === null)
      .map(({ agent }) => agent)
      .join(", ") || "none";
  const able = agents.filter(({ refused }) => refused === null);
  const open = able.filter(({ sandbox }) => sandbox === "off").map(({ agent }) => agent);
  const confined = able.filter(({ sandbox }) => sandbox !== "off").map(({ agent, sandbox }) => `${agent} (${sandbox})`);
  const subject = confined.length === 0 ? "agents" : `these agents: ${open.join(", ")}`;
  return [
    ...(confined.length === 0
      ? []
      : [`The operating system confines the programs of these agents: ${confined.join(", ")}.`]),
    ...(open.length === 0 && confined.length > 0
      ? []
      : [
          `The operating system does not confine ${subject}. A program that an agent starts runs as ${user}: it can read .aegis/state and ~/.aegis, and with what it finds there it can act as you.`,
        ]),
    `Agents that run commands without asking: ${that("yes")}. After a person allowed the command: ${that("asks")}.`,
    "The built-in gate judges a command by its text and sees only the calls that a harness reports. It misses a command that is assembled or read from a file, and what a harness does without asking.",
  ];
}

type Act = "edit" | "run" | "fetch";

/** What a permission allows, provided that the agent has the tools. docs/drivers.md describes each harness. */
const leaves: Readonly<Record<Permission, Readonly<Record<Act, Leave>>>> = {
  read: { edit: "no", run: "no", fetch: "asks" },
  write: { edit: "yes", run: "asks", fetch: "asks" },
  full: { edit: "yes", run: "yes", fetch: "yes" },
  auto: { edit: "asks", run: "asks", fetch: "asks" },
};

/** The native tools that an act needs; any one of them is enough. */
const toolsOf: Readonly<Record<Act, readonly string[]>> = {
  edit: ["edit", "write"],
  run: ["bash"],
  fetch: ["fetch"],
};

export function auditAgents(agents: AgentTable, tools: ToolTable, reachOf: (agent: Agent) => AgentReach): AuditAgent[] {
  const known = allTools(tools);
  return agents.listAgents().map(({ slug, source, plugin }) => {
    const agent = agents.get(slug);
    return auditAgent(agent, known, tools.scope(agent, null), { source, plugin, sandbox: reachOf(agent).level });
  });
}

function auditAgent(
  agent: Agent,
  known: readonly ScopedTool[],
  decide: (tool: ScopedTool) => Decision,
  from: Pick<AuditAgent, "source" | "plugin" | "sandbox">,
): AuditAgent {
  const decisions = new Map(known.map((tool): [string, Decision] => [tool.name, decide(tool)]));
  const leave = (act: Act): Leave =>
    toolsOf[act].some((name) => decisions.get(name)?.allowed === true) ? leaves[agent.permission][act] : "no";
  const names = (allowed: boolean) =>
    [...decisions].filter(([, decision]) => decision.allowed === allowed).map(([name]) => name);
  return {
    agent: agent.ref,
    harness: agent.harness,
    model: agent.model,
    ...from,
    permission: agent.permission,
    refused: agent.refused,
    edit: leave("edit"),
    run: leave("run"),
    fetch: leave("fetch"),
    tools: names(true),
    withheld: names(false),
    secrets: [...new Set([...Object.keys(agent.env), ...variablesIn(agent.env)])].sort(),
    allow_agents: agent.subagents.allow_agents ?? null,
    may_end: agent.may_end,
    note: harnessNote(agent),
  };
}

/** Some programs act without asking first. */
function harnessNote(agent: Agent): string | null {
  const scope = scopeNote(agent);
  if (factsOf(agent.harness)?.asksByItself === true || agent.permission === "full") return scope;
  const note = `${agent.harness} is held to this only where it asks before it acts`;
  return scope === null ? note : `${note}; ${scope}`;
}
