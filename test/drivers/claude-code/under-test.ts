/** The Claude Code driver with its fixture CLI. */
import type { Agent } from "../../../src/contract/agent.ts";
import { createClaudeCodeDriver } from "../../../src/drivers/claude-code/driver.ts";
import type { DriverDeps } from "../../../src/drivers/driver.ts";
import { fixture } from "../../helpers/pids.ts";
import type { DriverUnderTest } from "../../suites/driver-behaviours.ts";

export const claudeFixture = fixture("claude.mjs");

export function claudeAgent(more: Partial<Agent> = {}): Agent {
  return {
    slug: "claude",
    description: "",
    harness: "claude-code",
    model: null,
    effort: null,
    permission: "auto",
    prompt: "",
    env: {},
    options: { command: claudeFixture },
    source: "config",
    ...more,
  };
}

export function claudeUnderTest(agent = claudeAgent(), more: Partial<DriverDeps> = {}): DriverUnderTest {
  return {
    make: async ({ deps }) => ({ driver: createClaudeCodeDriver({ ...deps, ...more }), agent }),
    absent: {},
  };
}
