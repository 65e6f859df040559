/** The Claude Code driver with its fixture CLI. */
import type { Agent } from "../../../src/contract/agent.ts";
import { createClaudeCodeDriver } from "../../../src/drivers/claude-code/driver.ts";
import type { DriverDeps } from "../../../src/drivers/driver.ts";
import { agentOf } from "../../helpers/agents.ts";
import { fixture } from "../../helpers/pids.ts";
import type { DriverUnderTest } from "../../suites/driver-behaviours.ts";

export const claudeFixture = fixture("claude.mjs");

export function claudeAgent(more: Partial<Agent> = {}): Agent {
  const options = { command: claudeFixture };
  return agentOf({ slug: "claude", harness: "claude-code", permission: "auto", options, ...more });
}

export function claudeUnderTest(agent = claudeAgent(), more: Partial<DriverDeps> = {}): DriverUnderTest {
  return {
    make: async ({ deps }) => ({ driver: createClaudeCodeDriver({ ...deps, ...more }), agent }),
    absent: {},
  };
}
