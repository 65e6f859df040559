/** Which agent a name means while agents are added and removed. */

import { type AgentProfile, type AgentSource, agentSourceSchema, unsaidAgentFields } from "@aegis/contract/agent.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentTable } from "../src/agent-table.ts";

function profile(slug: string, source: AgentSource, more: Partial<AgentProfile> = {}): AgentProfile {
  const { overrides: _, ...unsaid } = unsaidAgentFields;
  return { ...unsaid, slug, source, description: "", prompt: "p", harness: null, permission: null, ...more };
}
const ofPlugin = (plugin: string, slug: string, more: Partial<AgentProfile> = {}) =>
  profile(slug, "plugin", { plugin, file: `/agents/${slug}.md`, ...more });
const base = profile("dev", "config", { harness: "native", model: "a/b", permission: "write", options: { x: 1 } });
const registryOf = (...profiles: AgentProfile[]) => new AgentTable([base, ...profiles], { slug: "dev", why: "a test" });

describe("a name that several go by", () => {
  it("means the strongest, and the next one when that is gone", () => {
    const registry = registryOf(profile("helper", "builtin", { prompt: "builtin" }));
    const undo = registry.registerPluginAgents([ofPlugin("a", "helper"), ofPlugin("b", "helper")]);
    expect(registry.get("helper").plugin).toBe("a");
    expect(registry.get("b:helper")).toMatchObject({ plugin: "b", ref: "b:helper", overrides: [] });
    expect(registry.diagnostics()).toMatchObject([{ level: "warning", agent: "helper", plugin: "a" }]);
    expect(registry.diagnostics()[0]?.message).toContain("b:helper");

    expect(registry.unregisterPluginAgent("a", "helper")).toBe(true);
    expect(registry.unregisterPluginAgent("a", "helper")).toBe(false);
    expect(registry.get("helper").plugin).toBe("b");
    expect(registry.loadAgent("a:helper")).toBeNull();
    undo();
    expect(registry.get("helper")).toMatchObject({ source: "builtin", prompt: "builtin" });
  });

  it("tells whom the winner stands in front of", () => {
    const registry = registryOf(profile("helper", "user"), profile("helper", "builtin"));
    registry.registerPluginAgent(ofPlugin("a", "helper"));
    expect(registry.get("helper").overrides).toEqual([
      { source: "plugin", plugin: "a", slug: "helper" },
      { source: "builtin", plugin: null, slug: "helper" },
    ]);
  });

  it("is decided by the file's name within one folder, and said", () => {
    const registry = registryOf(
      profile("helper", "project", { file: "/z.md" }),
      profile("helper", "project", { file: "/a.md" }),
    );
    expect(registry.get("helper").file).toBe("/a.md");
    expect(registry.diagnostics()[0]?.message).toContain("/z.md");
  });

  it("a new configuration leaves the agents of plugins alone", () => {
    const registry = registryOf();
    registry.registerPluginAgent(ofPlugin("a", "helper"));
    registry.replace([base], { slug: "dev", why: "again" });
    expect(registry.get("helper").plugin).toBe("a");
  });

  const sources = fc.constantFrom(...agentSourceSchema.options.filter((source) => source !== "plugin"));
  const slugs = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    fc.record({ kind: fc.constant("replace" as const), entries: fc.array(fc.tuple(slugs, sources), { maxLength: 6 }) }),
    fc.record({ kind: fc.constant("add" as const), plugin: fc.constantFrom("p", "q", "r"), slug: slugs }),
    fc.record({ kind: fc.constant("remove" as const), plugin: fc.constantFrom("p", "q", "r"), slug: slugs }),
  );

  it("listing and loading agree, and the order of loading never matters", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const registry = registryOf();
        let files: AgentProfile[] = [];
        const plugins = new Map<string, AgentProfile>();
        for (const one of steps) {
          if (one.kind === "replace") {
            files = one.entries.map(([slug, source], index) => profile(slug, source, { file: `/${index}.md` }));
            registry.replace([base, ...files], registry.choice);
          } else if (one.kind === "add" && !plugins.has(`${one.plugin}:${one.slug}`)) {
            const added = ofPlugin(one.plugin, one.slug);
            plugins.set(`${one.plugin}:${one.slug}`, added);
            registry.registerPluginAgent(added);
          } else if (one.kind === "remove") {
            const there = plugins.delete(`${one.plugin}:${one.slug}`);
            expect(registry.unregisterPluginAgent(one.plugin, one.slug)).toBe(there);
          }
          const listed = registry.listAgents();
          const all = [base, ...files, ...plugins.values()];
          expect(new Set(listed.map((agent) => agent.slug))).toEqual(new Set(all.map((agent) => agent.slug)));
          for (const summary of listed) {
            const agent = registry.get(summary.slug);
            expect(summary).toMatchObject({ source: agent.source, plugin: agent.plugin });
            const same = all.filter((candidate) => candidate.slug === agent.slug);
            const best = Math.min(...same.map((candidate) => agentSourceSchema.options.indexOf(candidate.source)));
            expect(agentSourceSchema.options.indexOf(agent.source)).toBe(best);
            expect(agent.overrides).toHaveLength(same.length - 1);
          }
          for (const [ref, { plugin, slug }] of plugins) expect(registry.get(ref)).toMatchObject({ plugin, slug });
        }
        const fresh = new AgentTable([base, ...files.toReversed()], registry.choice);
        fresh.registerPluginAgents([...plugins.values()].toReversed());
        for (const { slug } of registry.listAgents()) expect(fresh.get(slug)).toEqual(registry.get(slug));
      }),
    );
  });
});

describe("what is not there", () => {
  it("is an error with the nearest name, never another agent", () => {
    const registry = registryOf(profile("reviewer", "builtin"));
    registry.registerPluginAgent(ofPlugin("db", "dba"));
    expect(() => registry.get("reviwer")).toThrow('no agent "reviwer" (did you mean "reviewer"?)');
    expect(() => registry.get("db:dbb")).toThrow('(did you mean "db:dba"?)');
    expect(() => registry.get("x:reviewer")).toThrow('no agent "x:reviewer"');
    for (const name of ["", ":", "db:", ":dba", "../dev", "__proto__", "constructor"])
      expect(registry.loadAgent(name)).toBeNull();
  });

  it.each(["a/b", "..", "a:b", "", "A", "x".repeat(65), "-a", "a b"])("%j is refused as a name", (slug) => {
    expect(() => registryOf(profile(slug, "user"))).toThrow("is not a valid agent name");
    expect(() => registryOf().registerPluginAgent(ofPlugin("p", slug))).toThrow("is not a valid agent name");
  });

  it("an agent without a plugin, a second one of the same, or half of a set is refused", () => {
    const registry = registryOf();
    expect(() => registry.registerPluginAgent(profile("x", "plugin"))).toThrow("without its plugin");
    expect(() => registry.registerPluginAgents([ofPlugin("p", "x"), ofPlugin("p", "x")])).toThrow('has an agent "x"');
    expect(registry.loadAgent("x")).toBeNull();
    expect(() => registry.registerPluginAgent(ofPlugin("a:b", "x"))).toThrow("not a valid plugin name");
  });
});

describe("what an agent leaves out", () => {
  it("comes from the default agent: harness, its settings, model and rights", () => {
    expect(registryOf(profile("x", "builtin")).get("x")).toMatchObject({
      harness: "native",
      model: "a/b",
      permission: "write",
      options: { x: 1 },
    });
  });

  it("comes from the first agent with a harness when the default one has none", () => {
    const registry = new AgentTable([base, profile("x", "builtin")], { slug: "x", why: "asked for" });
    expect(registry.get()).toMatchObject({ slug: "x", harness: "native" });
    expect(registry.listAgents().find((agent) => agent.default)?.slug).toBe("x");
  });

  it("another harness brings none of that", () => {
    const other = registryOf(profile("x", "project", { harness: "codex" })).get("x");
    expect(other).toMatchObject({ harness: "codex", model: null, options: {} });
  });

  it("a plugin's agent can only narrow the rights it would have anyway", () => {
    const rights = (own: AgentProfile["permission"], basic: AgentProfile["permission"]) => {
      const registry = new AgentTable([{ ...base, permission: basic }], { slug: "dev", why: "a test" });
      registry.registerPluginAgent(ofPlugin("p", "x", { permission: own }));
      return registry.get("x").permission;
    };
    expect(rights("full", "auto")).toBe("auto");
    expect(rights("full", "write")).toBe("write");
    expect(rights("write", "full")).toBe("write");
    expect(rights("read", "full")).toBe("read");
    expect(rights("full", "read")).toBe("read");
    expect(rights(null, "write")).toBe("write");
  });

  it("a model that only Claude Code knows is not sent to another harness, and that is said", () => {
    const registry = registryOf(profile("x", "claude", { model: "sonnet", temperature: 0 }));
    expect(registry.get("x")).toMatchObject({ model: "a/b", temperature: 0 });
    expect(registry.diagnostics().map((one) => one.message)).toEqual([expect.stringContaining('"sonnet"')]);
    const claude = new AgentTable([{ ...base, harness: "claude-code" }, profile("x", "claude", { model: "opus" })], {
      slug: "dev",
      why: "a test",
    });
    expect(claude.get("x").model).toBe("opus");
  });
});

describe("an agent that extends another one", () => {
  const dba = ofPlugin("db", "dba", { description: "SQL", prompt: "Keep it.", tools: ["read"], permission: "full" });
  const withPlugin = (...profiles: AgentProfile[]) => {
    const registry = registryOf(...profiles);
    registry.registerPluginAgent(dba);
    return registry;
  };

  it("has that one's fields where it says nothing, and is that one to its tools", () => {
    const own = profile("dba", "user", { prompt: "", extends: "db:dba", model: "openai/x", deny_tools: ["bash"] });
    expect(withPlugin(own).get("dba")).toMatchObject({
      source: "user",
      plugin: null,
      description: "SQL",
      prompt: "Keep it.",
      tools: ["read"],
      model: "openai/x",
      deny_tools: ["bash"],
      extends: "db:dba",
      overrides: [{ source: "plugin", plugin: "db", slug: "dba" }],
    });
  });

  it("takes over no more rights than the default agent has, unless the user says so", () => {
    const rights = (more: Partial<AgentProfile>) =>
      withPlugin(profile("heir", "user", { prompt: "", extends: "db:dba", ...more })).get("heir").permission;
    expect(rights({})).toBe("write");
    expect(rights({ permission: "full" })).toBe("full");
    expect(rights({ permission: "read" })).toBe("read");
    const strong = profile("strong", "user", { permission: "full" });
    const heir = (source: AgentSource) => profile("heir", source, { prompt: "", extends: "strong" });
    expect(registryOf(strong, heir("user")).get("heir").permission).toBe("full");
    expect(registryOf(strong, heir("project")).get("heir").permission).toBe("write");
    expect(registryOf(strong, heir("config")).get("heir").permission).toBe("write");
  });

  it("of its own name means the next one of that name", () => {
    const registry = registryOf(
      profile("helper", "project", { prompt: "", extends: "helper" }),
      profile("helper", "builtin", { prompt: "original" }),
    );
    expect(registry.get("helper")).toMatchObject({ source: "project", prompt: "original" });
  });

  it("that is not there, or that leads back to it, is not started", () => {
    const lost = registryOf(profile("lost", "user", { extends: "db:dbq" }));
    expect(() => lost.startable("lost")).toThrow('it extends "db:dbq", which does not exist');
    expect(lost.diagnostics()).toMatchObject([{ level: "error", agent: "lost" }]);
    const round = registryOf(profile("a", "user", { extends: "b" }), profile("b", "user", { extends: "a" }));
    expect(() => round.startable("a")).toThrow("it extends itself: a → b → a");
    expect(round.get("a").refused).toContain("extends itself");
  });

  it("is made of every agent on the way", () => {
    const registry = withPlugin(profile("dba", "user", { prompt: "", extends: "db:dba" }));
    expect(registry.madeFrom(registry.get("dba")).map(({ slug, source }) => `${source} ${slug}`)).toEqual([
      ...["user dba", "plugin dba", "config dev"],
    ]);
  });
});

describe("a reason not to start an agent", () => {
  it("counts again after the settings were replaced, and a changing one counts each time", () => {
    const profiles = [base];
    const choice = { slug: "dev", why: "a test" };
    const agents = new AgentTable(profiles, choice);
    const missing = new Set<string>();
    agents.refuseWhile(missing, () => "a plugin is missing");
    expect(agents.startable("dev").slug).toBe("dev");
    missing.add("gate");
    expect(() => agents.startable("dev")).toThrow("a plugin is missing");
    missing.clear();
    expect(agents.startable("dev").slug).toBe("dev");
    agents.replace(profiles, choice, () => "it is not trusted");
    expect(() => agents.startable("dev")).toThrow("it is not trusted");
    expect(() => agents.startable("dev")).toThrow("it is not trusted");
  });
});

describe("the name of a model", () => {
  const model = (name: string, more: Partial<AgentProfile> = {}) => {
    const registry = registryOf(profile("x", "user", { model: name, ...more }));
    const messages = registry.diagnostics().map((one) => one.message);
    return [registry.get("x").model, ...messages];
  };

  it("without a provider is the provider's of its family on a native agent", () => {
    expect(model("claude-3-5-sonnet-20241022")).toEqual(["anthropic/claude-3-5-sonnet-20241022"]);
    expect(model("gpt-4o")).toEqual(["openai/gpt-4o"]);
    expect(model("gemini-2.5-pro")).toEqual(["google/gemini-2.5-pro"]);
    expect(model("openrouter/claude-3")).toEqual(["openrouter/claude-3"]);
  });

  it("of no known family is warned about", () => {
    expect(model("llama3")).toEqual(["a/b", expect.stringContaining('"llama3" names no provider')]);
  });

  it("of another vendor is warned about, and kept where the author chose the harness", () => {
    const warning = expect.stringContaining("codex has no models of anthropic");
    expect(model("claude-3-5-sonnet-20241022", { harness: "codex" })).toEqual(["claude-3-5-sonnet-20241022", warning]);
    expect(model("claude-3-5-sonnet-20241022", { harness: "claude-code" })).toEqual(["claude-3-5-sonnet-20241022"]);
  });
});
