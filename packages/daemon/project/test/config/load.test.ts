import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toAgent } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { publicConfig } from "../../src/config/show.ts";
import { createProject, harnesses } from "./project.ts";

async function load(files: Record<string, string>) {
  const { root } = await createProject(files);
  const loaded = await loadConfig({ cwd: root, harnesses });
  expect(loaded.problems).toEqual([]);
  if (loaded.config === null) throw new Error("expected a config");
  return { ...loaded, config: loaded.config };
}

describe("loadConfig", () => {
  it("gives defaults where there is no file, with the folder itself as the project", async () => {
    const { root, files, config } = await load({});
    expect(files).toEqual([]);
    expect(root).toMatch(/aegis-test-/);
    expect(config).toMatchObject({
      default_agent: null,
      agents: {},
      plugin_dirs: [".aegis/plugins"],
      plugins: { enabled: true, deny: [] },
      skills: { enabled: true, max_per_turn: 2 },
      subagents: { max_spawn_depth: 2, max_children: 5, default_timeout: 300, session_ttl_minutes: 60 },
      pool: { max: 15 },
      hooks: { timeout: 10 },
      messages: { max_hops: 20 },
      server: { bind: "127.0.0.1", port: 0 },
    });
  });

  it("finds the closest file above the folder it starts in", async () => {
    const { root } = await createProject({
      ".aegis.yaml": "messages: {max_hops: 1}\n",
      "inner/.aegis.yaml": "messages: {max_hops: 2}\n",
    });
    await mkdir(join(root, "inner/deep/down"), { recursive: true });
    await mkdir(join(root, "beside"));
    const inner = await loadConfig({ cwd: join(root, "inner/deep/down"), harnesses });
    expect(inner.root).toBe(join(root, "inner"));
    expect(inner.config?.messages.max_hops).toBe(2);
    const beside = await loadConfig({ cwd: join(root, "beside"), harnesses });
    expect(beside.root).toBe(root);
  });

  it("puts overlays beside the main file's entries and the local file over all of them", async () => {
    const { config, files, root } = await load({
      ".aegis.yaml":
        "default_agent: dev\nagents:\n  dev: {harness: codex, model: big, env: {A: '1', B: '2'}}\nplugin_dirs: [a, b]\n",
      ".aegis/agents/rev.yaml": "harness: claude-code\nmodel: small\n",
      ".aegis/agents/notes.md": "not ours\n",
      ".aegis/agents/.rev.yaml.swp": "half a file {",
      ".aegis/queues/build.yaml": "agent: rev\n",
      ".aegis/schedules/nightly.yaml": "queue: build\npayload: go\ncron: '0 3 * * *'\n",
      ".aegis/groups/pair.yaml": "agents: [dev, rev]\n",
      ".aegis.local.yaml": "agents:\n  dev: {env: {B: '3'}}\n  rev: {model: local}\nplugin_dirs: [c]\n",
    });
    expect(config.agents.dev).toMatchObject({ model: "big", env: { A: "1", B: "3" } });
    expect(config.agents.rev).toMatchObject({ harness: "claude-code", model: "local" });
    expect(config.queues.build).toMatchObject({ agent: "rev", max_parallel: 1, retries: 0 });
    expect(config.schedules.nightly).toMatchObject({ queue: "build", timezone: "UTC", missed: "skip" });
    expect(config.groups.presets.pair?.agents).toEqual(["dev", "rev"]);
    expect(config.plugin_dirs).toEqual(["c"]);
    expect(files).toContain(join(root, ".aegis/groups/pair.yaml"));
    expect(files).toContain(join(root, ".aegis.local.yaml"));
  });

  it("follows anchors, aliases and merge keys", async () => {
    const { config } = await load({
      ".aegis.yaml":
        "agents:\n  dev: &dev\n    harness: codex\n    model: big\n  rev:\n    <<: *dev\n    model: small\n  twin: *dev\n",
    });
    expect(config.agents.rev).toMatchObject({ harness: "codex", model: "small" });
    expect(config.agents.twin).toMatchObject({ harness: "codex", model: "big" });
  });

  it("lets many entries share one anchor", async () => {
    const agents = Array.from({ length: 300 }, (_, index) => `  a${index}: {<<: *base}\n`).join("");
    const { config } = await load({ ".aegis.yaml": `agents:\n  base: &base {harness: codex}\n${agents}` });
    expect(Object.keys(config.agents)).toHaveLength(301);
  });

  it("treats a key without a value as not written", async () => {
    const { config } = await load({
      ".aegis.yaml": "agents:\n# all commented out\nserver:\n  port:\nplugins:\n  p: {x: null}\n",
    });
    expect(config.agents).toEqual({});
    expect(config.server.port).toBe(0);
    expect(config.plugins).toMatchObject({ p: { x: null } });
  });

  it("takes the first agent as the default when none is named", async () => {
    const { config } = await load({ ".aegis.yaml": "agents: {b: {harness: codex}, a: {harness: codex}}\n" });
    expect(config.default_agent).toBe("b");
  });

  it("makes agents of entries, with synonyms resolved and the prompt file read", async () => {
    const { config } = await load({
      ".aegis.yaml": [
        "agents:",
        "  dev:",
        "    provider: acp",
        "    command: my-agent",
        "    args: [--acp]",
        "    prompt: prompts/dev.md",
        "    tools_allow: [read]",
        "    tools_deny: [shell]",
        "    options: {inactivity_minutes: 3}",
        "  off: {harness: scripted, playbook: play.yaml, tools: none}",
        "",
      ].join("\n"),
      "prompts/dev.md": "Be brief.\n",
    });
    const dev = config.agents.dev;
    const off = config.agents.off;
    if (dev === undefined || off === undefined) throw new Error("expected both agents");
    expect(toAgent("dev", dev)).toEqual({
      slug: "dev",
      description: "",
      harness: "acp",
      isolation: null,
      nodes: null,
      sandbox: null,
      allow: null,
      model: null,
      effort: null,
      permission: "auto",
      prompt: "Be brief.\n",
      env: {},
      options: { inactivity_minutes: 3, command: "my-agent", args: ["--acp"] },
      temperature: null,
      max_turns: null,
      tools: ["read"],
      deny_tools: ["shell"],
      skills: null,
      subagents: {},
      may_end: [],
      mcp: "none",
      on_crash: null,
      source: "config",
      plugin: null,
      file: null,
      refused: null,
      overrides: [],
    });
    expect(dev).toMatchObject({ tools: ["read"], deny_tools: ["shell"] });
    expect(off.tools).toEqual([]);
    expect(toAgent("off", off).options).toEqual({ playbook: "play.yaml" });
  });

  it("masks secrets in what is shown and names prompt files instead of quoting them", async () => {
    const { config } = await load({
      ".aegis.yaml": [
        "agents:",
        "  dev:",
        "    harness: codex",
        "    prompt: p.md",
        "    env: {OPENAI_API_KEY: sk-live-1, GH_TOKEN: ghp-live-2, KEYBOARD: qwerty, PATH_EXTRA: /bin}",
        "plugins: {mail: {password: pw-live-4, host: mail.example}}",
        "",
      ].join("\n"),
      "p.md": "secret plan",
    });
    const text = JSON.stringify(publicConfig(config, new Set()));
    for (const secret of ["sk-live-1", "ghp-live-2", "pw-live-4", "secret plan"]) expect(text).not.toContain(secret);
    for (const open of ["qwerty", "/bin", "mail.example", "p.md"]) expect(text).toContain(open);
  });

  it("is quick once it has run", async () => {
    const agents = Array.from({ length: 10 }, (_, index) => `  a${index}: {harness: codex, model: m}\n`).join("");
    const { root } = await createProject({
      ".aegis.yaml": `agents:\n${agents}`,
      ".aegis/queues/q.yaml": "agent: a1\n",
    });
    const times: number[] = [];
    for (let run = 0; run < 15; run++) {
      const start = performance.now();
      await loadConfig({ cwd: root, harnesses });
      times.push(performance.now() - start);
    }
    // The best of many, because the machine may be busy with other tests.
    expect(Math.min(...times)).toBeLessThan(20);
  });
});

it("warns of an empty list of tools, which counts as not written", async () => {
  const { config, warnings } = await load({
    ".aegis.yaml": "agents:\n  a: {harness: scripted, tools: []}\n  b: {harness: scripted, tools: none}\n",
  });
  expect([config.agents.a?.tools, config.agents.b?.tools]).toEqual([null, []]);
  expect(warnings).toMatchObject([{ file: ".aegis.yaml", line: 2, key: "agents.a.tools" }]);
});
