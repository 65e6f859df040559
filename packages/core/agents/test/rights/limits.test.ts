/** What an agent passes on, and which agents its lists mean. */

import type { Agent } from "@aegis/contract/agent.ts";
import { scopeOf } from "@aegis/contract/tool-access.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { describe, expect, it } from "vitest";
import { isNamed, limitedAgent, limitsBelow } from "../../src/limits.ts";
import { endRefusal } from "../../src/rights/may-end.ts";

function agent(slug: string, change: Partial<Agent> = {}): Agent {
  return { ...offlineAgent, slug, ref: slug, ...change };
}

const user = { plugin: null };
const mine = { plugin: "mine" };
const own = agent("helper", { source: "config" });
const ofMine = agent("helper", { source: "plugin", plugin: "mine" });
const ofOther = agent("helper", { source: "plugin", plugin: "other" });
const front = agent("helper", { overrides: [{ source: "plugin", plugin: "other", slug: "helper" }] });

describe("a name in a list of agents", () => {
  it.each([
    ["a bare name of the user's, for the user's agent", user, own, "helper", true],
    ["a bare name of the user's, for a plugin's agent", user, ofOther, "helper", false],
    ["a bare name of a plugin's, for its own agent", mine, ofMine, "helper", true],
    ["a bare name of a plugin's, for the user's agent", mine, own, "helper", true],
    ["a bare name of a plugin's, for another plugin's agent", mine, ofOther, "helper", false],
    ["plugin:agent, for that agent", user, ofOther, "other:helper", true],
    ["plugin:agent, for another plugin's agent of the name", user, ofMine, "other:helper", false],
    ["plugin:agent, for the user's agent of the name", user, own, "other:helper", false],
    ["plugin:agent, for the user's agent in front of it", user, front, "other:helper", true],
    ["*, for anybody", user, ofOther, "*", true],
    ["another name", user, own, "helpers", false],
  ])("%s", (_, owner, candidate, name, expected) => {
    expect(isNamed(owner, candidate, [name])).toBe(expected);
    expect(isNamed(owner, candidate, [])).toBe(false);
  });
});

describe("limits", () => {
  const starter = agent("starter", { permission: "write", tools: ["read"], deny_tools: ["bash"], may_end: ["a", "b"] });

  it("hold what is started to the starter's rights, and its tools where allow_agents does not name it", () => {
    const started = agent("started", { permission: "full", deny_tools: ["fetch"], may_end: ["b", "c"] });
    const limits = limitsBelow(starter, started, {});
    expect(limitedAgent(started, limits)).toMatchObject({
      permission: "write",
      deny_tools: ["fetch", "bash"],
      within: [["read"]],
      may_end: ["b"],
    });
    const named = { ...starter, subagents: { allow_agents: ["started"] } };
    expect(limitsBelow(named, started, {})).not.toHaveProperty("within");
    const ofPlugin = agent("started", { plugin: "other", source: "plugin" });
    expect(limitsBelow(named, ofPlugin, {}).within).toEqual([["read"]]);
  });

  it("ask as `auto` and hide what `write` has not, where one of the two permissions is each of them", () => {
    const both = { permission: "auto", needs_at_most: "write" };
    const [writer, asker, all] = [
      agent("writer", { permission: "write" }),
      agent("asker", { permission: "auto" }),
      agent("all", { permission: "full" }),
    ];
    const below = (from: Agent, started: Agent) => limitedAgent(started, limitsBelow(from, started, {}));
    expect(below(asker, writer)).toMatchObject(both);
    expect(below(writer, asker)).toMatchObject(both);
    // Further down both stay.
    expect(below(below(asker, writer), all)).toMatchObject(both);
    expect(below(all, asker)).not.toHaveProperty("needs_at_most");
    const plugged = { kind: "plugin", plugin: "p", required_agent: null, visible_to: [] } as const;
    const decide = scopeOf(below(asker, writer));
    expect(decide({ ...plugged, name: "t", needs: "write" }).allowed).toBe(true);
    expect(decide({ ...plugged, name: "t", needs: "full" }).allowed).toBe(false);
    expect(scopeOf(asker)({ ...plugged, name: "t", needs: "full" }).allowed).toBe(true);
  });

  it.each([
    ["read", "auto", "read"],
    ["auto", "read", "read"],
    ["read", "full", "read"],
    ["write", "read", "read"],
    ["full", "write", "write"],
    ["write", "full", "write"],
    ["full", "auto", "auto"],
    ["auto", "full", "auto"],
    ["full", "full", "full"],
  ] as const)("of %s for an agent with %s are %s", (most, permission, expected) => {
    const started = agent("started", { permission });
    expect(limitedAgent(started, limitsBelow(agent("starter", { permission: most }), started, {}))).toMatchObject({
      permission: expected,
    });
  });

  it("do not give the right to end sessions to a descendant of a session without it", () => {
    const everything = agent("everything", { may_end: ["*"] });
    expect(limitedAgent(everything, limitsBelow(starter, everything, {})).may_end).toEqual(["a", "b"]);
    expect(limitedAgent(everything, limitsBelow(agent("plain"), everything, {})).may_end).toEqual([]);
    // Limits that an earlier version wrote.
    expect(limitedAgent(everything, { model: null, permission: null, deny_tools: [] }).may_end).toEqual([]);
    expect(limitedAgent(everything, null).may_end).toEqual(["*"]);
  });
});

it("ends what its tree started and what its agent names, and says whose it is otherwise", () => {
  const root = "ses_root" as never;
  const ender = { root, agent: agent("warden", { may_end: ["helper"] }) };
  expect(endRefusal(ender, { root, agent: null, name: "it" })).toBeNull();
  expect(endRefusal(ender, { root: null, agent: own, name: "it" })).toBeNull();
  expect(endRefusal(ender, { root: null, agent: ofOther, name: "it" })).toBe(
    'neither you nor your tree started it, and may_end of your agent does not name its agent "other:helper"',
  );
  expect(
    endRefusal({ ...ender, agent: agent("plain") }, { root: "ses_x" as never, agent: null, name: "it" }),
  ).toContain("neither you nor your tree started it");
});
