import { describe, expect, it } from "vitest";
import { type AuditFacts, auditFindings } from "../../src/audit/findings.ts";

const closed: AuditFacts = {
  project: "/project",
  user: "ada",
  version: "0.2.0",
  open: [],
  state: { owner: "you", since: null, adopted: false },
  agents: [],
  gates: [],
  plugins: [],
  queues: [],
  access: [],
  network: {
    bind: "127.0.0.1",
    url: "http://127.0.0.1:4000",
    allowed_hosts: [],
    models: [],
    plugin_registries: [],
    skill_registry: "https://skills.example",
    webhooks: [],
    channels: [],
  },
  secrets: [],
  trust: { file: "/home/ada/.aegis/trust.json", always: false, dev: [], items: [] },
  exposed: [],
  agentInstall: "ask",
  privateFetch: [],
  plainSecrets: [],
};

const agent: AuditFacts["agents"][number] = {
  agent: "dev",
  harness: "native",
  model: null,
  source: "config",
  plugin: null,
  permission: "full",
  sandbox: "off",
  refused: null,
  edit: "yes",
  run: "yes",
  fetch: "yes",
  tools: [],
  withheld: [],
  secrets: [],
  allow_agents: null,
  may_end: [],
  note: null,
};

describe("audit findings", () => {
  it("finds nothing in a project that is closed, or whose agent is confined", () => {
    expect(auditFindings(closed)).toEqual([]);
    expect(auditFindings({ ...closed, agents: [{ ...agent, sandbox: "workspace" }] })).toEqual([]);
  });

  const network = closed.network;
  const trust = closed.trust;
  const model = { provider: "corp", key: "CORP_KEY" };
  const item = { kind: "agent", name: "config/dev", file: ".aegis.yaml", what: "starts x", since: null, by: null };
  const cases: [string, Partial<AuditFacts>, string, RegExp][] = [
    ["trust in all that comes", { trust: { ...trust, always: true } }, "high", /including future changes/],
    ["a plugin trusted for development", { trust: { ...trust, dev: ["mine"] } }, "medium", /plugin mine/],
    [
      "a changed item",
      { trust: { ...trust, items: [{ ...item, state: "changed" }] } },
      "low",
      /config\/dev \(changed\)/,
    ],
    ["an agent that never asks", { agents: [agent] }, "high", /agent dev.*without asking/],
    ["a listener beyond this machine", { network: { ...network, bind: "0.0.0.0" } }, "high", /other machines/],
    ["more host names", { network: { ...network, allowed_hosts: ["box"] } }, "low", /box/],
    [
      "a key that travels without encryption",
      { network: { ...network, models: [{ ...model, base_url: "http://models.example" }] } },
      "medium",
      /without encryption/,
    ],
    [
      "a webhook that reaches private addresses",
      { network: { ...network, webhooks: [{ name: "ci", origin: "http://10.0.0.1", allow_private: true }] } },
      "medium",
      /webhook out:ci.*its network/,
    ],
    ["agents that install skills", { agentInstall: "allow" }, "medium", /install skills/],
    ["an agent that reaches private addresses", { privateFetch: ["dev"] }, "medium", /private addresses/],
    ["a secret in a file", { plainSecrets: ["agents.dev.env.KEY"] }, "medium", /agents\.dev\.env\.KEY/],
    ["a file that others can read", { exposed: ["/home/ada/.aegis"] }, "high", /other users/],
    [
      "a gate that is not loaded",
      { gates: [{ plugin: "guard", hook: "pre_tool_use (check)", state: "missing", reason: "gone" }] },
      "medium",
      /guard.*denied/,
    ],
    [
      "a queue that widens rights",
      { queues: [{ queue: "deploy", agent: "ops", rights: "own", producers: ["dev"] }] },
      "medium",
      /queue deploy.*rights of ops/,
    ],
  ];
  it.each(cases)("finds %s", (_, facts, level, text) => {
    const findings = auditFindings({ ...closed, ...facts });
    expect(findings).toHaveLength(1);
    expect(findings[0]?.level).toBe(level);
    expect(`${findings[0]?.subject} ${findings[0]?.finding}`).toMatch(text);
    expect(findings[0]?.fix).not.toBe("");
  });

  it("accepts what cannot act: a refused agent, a model on this machine", () => {
    const local = { ...model, base_url: "http://127.0.0.1:11434" };
    const facts = { agents: [{ ...agent, refused: "not trusted" }], network: { ...network, models: [local] } };
    expect(auditFindings({ ...closed, ...facts })).toEqual([]);
  });

  it("puts the most serious first", () => {
    const findings = auditFindings({ ...closed, agentInstall: "allow", trust: { ...trust, always: true } });
    expect(findings.map(({ level }) => level)).toEqual(["high", "medium"]);
  });
});
