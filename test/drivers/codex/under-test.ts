/** The Codex driver with its fixture app server. */
import type { Agent } from "../../../src/contract/agent.ts";
import { createCodexDriver } from "../../../src/drivers/codex/driver.ts";
import type { DriverDeps } from "../../../src/drivers/driver.ts";
import { agentOf } from "../../helpers/agents.ts";
import { fixture } from "../../helpers/pids.ts";
import type { DriverUnderTest } from "../../suites/driver-behaviours.ts";

export const codexFixture = fixture("codex.mjs");

export function codexAgent(more: Partial<Agent> = {}): Agent {
  const options = { command: codexFixture };
  return agentOf({ slug: "codex", harness: "codex", permission: "auto", options, ...more });
}

export function codexUnderTest(agent = codexAgent(), more: Partial<DriverDeps> = {}): DriverUnderTest {
  return {
    make: async ({ deps }) => ({
      driver: createCodexDriver({ ...deps, ...more, env: { ...deps.env, ...more.env } }),
      agent,
    }),
    absent: {},
  };
}
