/** The Codex driver with its fixture app server. */
import type { Agent } from "../../../src/contract/agent.ts";
import { createCodexDriver } from "../../../src/drivers/codex/driver.ts";
import type { DriverDeps } from "../../../src/drivers/driver.ts";
import { fixture } from "../../helpers/pids.ts";
import type { DriverUnderTest } from "../../suites/driver-behaviours.ts";

export const codexFixture = fixture("codex.mjs");

export function codexAgent(more: Partial<Agent> = {}): Agent {
  return {
    slug: "codex",
    description: "",
    harness: "codex",
    model: null,
    effort: null,
    permission: "auto",
    prompt: "",
    env: {},
    options: { command: codexFixture },
    source: "config",
    ...more,
  };
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
