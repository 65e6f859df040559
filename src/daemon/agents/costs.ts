/** Says where a budget in dollars cannot hold an agent, because nobody knows what its turns cost. */
import type { Agent, AgentDiagnostic } from "../../contract/agent.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { AgentRegistry } from "../../runtime/registry/agents.ts";
import type { DriverRegistry } from "../../runtime/registry/drivers.ts";
import { priceOf } from "../../runtime/registry/prices.ts";
import type { Config } from "../config/config.ts";

export type CostOptions = {
  agents: AgentRegistry;
  drivers: DriverRegistry;
  config: () => Pick<Config, "prices" | "queues" | "subagents">;
};

/** More names would bury what is to be done. */
const namesAtMost = 5;

/** One for all agents that have the same harness, model and budgets. */
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

/** The same for one agent. */
export function costDiagnostic(agent: Agent, options: CostOptions): AgentDiagnostic[] {
  const message = unknownCost(agent, options);
  return message === null ? [] : [diagnostic(agent, message)];
}

/** Null when every dollar counts, and where no budget counts them. */
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
