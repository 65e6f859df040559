/** The Codex driver with its fixture app server. */
import type { Agent } from "@aegis/contract/agent.ts";
import { agentOf } from "@aegis/test/helpers/agents.ts";
import { fixture } from "@aegis/test/helpers/pids.ts";
import type { DriverUnderTest } from "@aegis/test/suites/driver-behaviours.ts";
import { createCodexDriver } from "../../src/codex/driver.ts";
import type { DriverDeps } from "../../src/driver.ts";

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
