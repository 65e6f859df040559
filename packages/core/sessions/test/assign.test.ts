import { limitedAgent } from "@aegis/agents/limits.ts";
import { agentOf } from "@aegis/test/helpers/agents.ts";
import { expect, it } from "vitest";
import { withModel } from "../src/new-session.ts";

const agent = agentOf({ harness: "native", model: "a", may_end: ["helper"], deny_tools: ["bash"] });

it("changes the model of an unlimited session and nothing else", () => {
  expect(limitedAgent(agent, withModel(null, "b"))).toEqual({ ...agent, model: "b" });
  expect(withModel(null, null)).toBeNull();
  expect(withModel(null, undefined)).toBeNull();
});

it("keeps the limits of a session, and selects the agent's model again with null", () => {
  const limits = { model: "b", permission: "read" as const, deny_tools: ["x"], may_end: [] };
  expect(withModel(limits, "c")).toEqual({ ...limits, model: "c" });
  expect(withModel(limits, undefined)).toBe(limits);
  expect(limitedAgent(agent, withModel(limits, null)).model).toBe("a");
});
