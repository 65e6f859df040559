/** Which budgets cannot count what an agent spends. */

import { AgentTable } from "@aegis/agents/agent-table.ts";
import { unsaidAgentFields } from "@aegis/contract/agent.ts";
import type { Costs } from "@aegis/drivers/driver.ts";
import { DriverTable } from "@aegis/drivers/driver-table.ts";
import { testDriver } from "@aegis/test/helpers/runtime.ts";
import { expect, it } from "vitest";
import { type CostOptions, costDiagnostic, costDiagnostics } from "../../src/agents/costs.ts";
import { configSchema } from "../../src/config/schema.ts";
import { offlineAgent } from "../../src/harnesses/detect.ts";

const budget = { subagents: { budget: { usd: 1 } } };
const price = { input: 1, output: 1 };

function options(config: Record<string, unknown>, told: Record<string, Costs>): CostOptions {
  const drivers = Object.entries(told).map(([harness, costs]) => ({
    ...testDriver(async function* () {}),
    harness,
    costs: () => costs,
  }));
  const profiles = Object.keys(told).map((harness) => ({
    ...offlineAgent,
    ...unsaidAgentFields,
    source: "config" as const,
    slug: harness,
    harness,
    model: harness === "free" ? null : `m/${harness}`,
  }));
  const agents = new AgentTable(profiles, { slug: profiles[0]?.slug ?? "", why: "a test" });
  const parsed = configSchema.parse(config);
  return { agents, drivers: new DriverTable(drivers), config: () => ({ ...parsed }) };
}

const all: Record<string, Costs> = { silent: "untold", moody: "sometimes", open: "told", free: "nothing" };
const about = (config: Record<string, unknown>) =>
  costDiagnostics(options(config, all)).map(({ agent, message }) => `${agent}: ${message}`);

it("none where no budget counts dollars", () => {
  expect(about({})).toEqual([]);
  expect(about({ subagents: { budget: { output_tokens: 5 } } })).toEqual([]);
});

it("those of agents whose harness may not say it, unless their model has a price", () => {
  expect(about(budget)).toEqual([
    expect.stringMatching(/^silent: .*subagents\.budget\.usd.*silent does not say what m\/silent costs/),
    expect.stringMatching(/^moody: .*moody may not say what m\/moody costs, and prices has no entry for it$/),
  ]);
  expect(about({ ...budget, prices: { "m/silent": price } })).toHaveLength(1);
  expect(about({ ...budget, prices: { "m/*": price } })).toEqual([]);
  expect(about({ ...budget, prices: { "m/silnt": price } })[0]).toContain('did you mean "m/silnt"?');
});

it("that of a queue for the agent that works for it alone", () => {
  const budgets = [{ usd: 5, window: "1d" }];
  const found = about({ queues: { nightly: { agent: "silent", budgets }, free: { agent: "moody" } } });
  expect(found).toEqual([expect.stringMatching(/^silent: .*\(queues\.nightly\.budgets\)/)]);
});

it("of an agent without a model, which only a price for all can cover", () => {
  const without = options(budget, { silent: "untold" });
  const agent = { ...without.agents.get("silent"), model: null };
  expect(costDiagnostic(agent, without)[0]?.message).toContain("names no model that could have a price");
  const covered = options({ ...budget, prices: { "*": price } }, { silent: "untold" });
  expect(costDiagnostic(agent, covered)).toEqual([]);
});

it("are told once for all agents they are the same for", () => {
  const shared = options(budget, { silent: "untold" });
  const more = ["a", "b", "c", "d", "e", "f", "g"].map((slug) => ({ ...shared.agents.get("silent"), slug }));
  shared.agents.replace([shared.agents.get("silent"), ...more], shared.agents.choice);
  const [only, ...others] = costDiagnostics(shared);
  expect(others).toEqual([]);
  expect(only?.message).toMatch(/ \(also: a, b, c, d, e and 2 more\)$/);
});
