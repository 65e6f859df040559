/** Reports agents that a dollar budget cannot limit because the cost of their turns is unknown. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { Agent, AgentDiagnostic } from "@aegis/contract/agent.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import { priceOf } from "@aegis/drivers/prices.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { Config } from "../config/config.ts";

export type CostOptions = {
  agents: AgentTable;
  drivers: DriverTable;
  config: () => Pick<Config, "prices" | "queues" | "subagents">;
};

/** A longer list would hide the advice at the end of the message. */
const namesAtMost = 5;

/** Returns one diagnostic for all agents that have the same harness, model and budgets. */
export function costDiagnostics(options: CostOptions): AgentDiagnostic[] {
  const groups = new Map<string, Agent[]>();
  for (const { slug } of options.agents.listAgents()) {
    const agent = options.agents.get(slug);
    const message = unknownCost(agent, options);
    if (message !== null) groups.set(message, [...(groups.get(message) ?? []), agent]);
  }
  return [...groups].flatMap(([message, [first, ...more]]) => {
    if (first === undefined) return [];
    const names = more.slice(0, namesAtMost).map((agent) => agent.slug);
    const rest = more.length > namesAtMost ? ` and ${more.length - namesAtMost} more` : "";
    return [diagnostic(first, names.length === 0 ? message : `${message} (also: ${names.join(", ")}${rest})`)];
  });
}

/** Like `costDiagnostics`, for one agent. */
export function costDiagnostic(agent: Agent, options: CostOptions): AgentDiagnostic[] {
  const message = unknownCost(agent, options);
  return message === null ? [] : [diagnostic(agent, message)];
}

/** Returns null if the cost of every turn is known, or if no dollar budget applies. */
function unknownCost(agent: Agent, { drivers, config, agents }: CostOptions): string | null {
  const { prices, queues, subagents } = config();
  const budgets = [
    ...(subagents.budget.usd === undefined ? [] : ["subagents.budget.usd"]),
    ...Object.entries(queues)
      .filter(([, queue]) => queue.budgets.some(({ usd }) => usd !== undefined))
      .filter(([, queue]) => isSame(agents.loadAgent(queue.agent), agent))
      .map(([name]) => `queues.${name}.budgets`),
  ];
  if (budgets.length === 0) return null;
  const costs = drivers.find(agent.harness)?.costs(agent) ?? "untold";
  if (costs === "told" || costs === "nothing" || priceOf(agent.model ?? "", prices) !== null) return null;
  const told = costs === "sometimes" ? "may not say" : "does not say";
  const held = `budgets in dollars (${budgets.join(", ")}) do not count all that it spends`;
  if (agent.model === null)
    return `${held}: ${agent.harness} ${told} what a turn costs, and the agent names no model that could have a price`;
  const near = didYouMean(agent.model, Object.keys(prices));
  return `${held}: ${agent.harness} ${told} what ${agent.model} costs, and prices has no entry for it${near}`;
}

function isSame(a: Agent | null, b: Agent): boolean {
  return a !== null && a.slug === b.slug && a.plugin === b.plugin;
}

function diagnostic({ slug, plugin, file }: Agent, message: string): AgentDiagnostic {
  return { level: "warning", agent: slug, plugin, file, line: null, message };
}
