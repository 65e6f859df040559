/** The Claude Code driver with its fixture CLI. */
import type { Agent } from "@aegis/contract/agent.ts";
import { agentOf } from "@aegis/test/helpers/agents.ts";
import { fixture } from "@aegis/test/helpers/pids.ts";
import type { DriverUnderTest } from "@aegis/test/suites/driver-behaviours.ts";
import { createClaudeCodeDriver } from "../../src/claude-code/driver.ts";
import type { DriverDeps } from "../../src/driver.ts";

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
