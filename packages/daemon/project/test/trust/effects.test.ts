/** Every key of the configuration is marked, and its mark is true: what is inert adds nothing to agree to, the rest does. */

import { catalog } from "@aegis/builtin-workflows/catalog.ts";
import type { AgentProfile } from "@aegis/contract/agent.ts";
import type { Trust } from "@aegis/plugins/trust/trust.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Config, resolveConfig, toAgent } from "../../src/config/config.ts";
import { configEffects, type Effect, workflowEffects } from "../../src/config/effects.ts";
import { configSchema } from "../../src/config/schema.ts";
import { Contents } from "../../src/trust/contents.ts";
import { allOf, projectItems } from "../../src/trust/items.ts";
import { trustedSettings } from "../../src/trust/trusted-settings.ts";

type Map = Record<string, unknown>;

/** A value for each key that is marked. */
const samples: Record<string, unknown> = {
  default_agent: "x",
  "agents.*.extends": "other",
  "agents.*.description": "does it",
  "agents.*.harness": "native",
  "agents.*.provider": "native",
  "agents.*.model": "openai/gpt",
  "agents.*.effort": "low",
  "agents.*.permission": "full",
  "agents.*.prompt": "prompt.md",
  "agents.*.command": ["node", "x.mjs"],
  "agents.*.args": ["x"],
  "agents.*.playbook": "play.yaml",
  "agents.*.options": { mode: "yolo" },
  "agents.*.env": { NODE_OPTIONS: "--import ./x.mjs" },
  "agents.*.tools": ["read"],
  "agents.*.tools_allow": ["read"],
  "agents.*.deny_tools": ["bash"],
  "agents.*.tools_deny": ["bash"],
  "agents.*.skills": ["x"],
  "agents.*.subagents.enabled": false,
  "agents.*.subagents.allow_agents": ["x"],
  "agents.*.subagents.max_children": 1,
  "agents.*.subagents.max_spawn_depth": 1,
  "agents.*.subagents.default_timeout": 1,
  "agents.*.may_end": ["x"],
  "agents.*.mcp": ["x"],
  "agents.*.on_crash": "fail",
  "agents.*.isolation": "worktree",
  "agents.*.nodes": ["gpu"],
  "agents.*.sandbox": "off",
  "agents.*.allow.write": ["../more"],
  "agents.*.allow.read": ["~/.config/tool"],
  "agents.*.allow.hosts": ["a.example"],
  sandbox: "workspace",
  "allow.write": ["../more"],
  "allow.read": ["~/.config/tool"],
  "allow.hosts": ["a.example"],
  "queues.*.agent": "y",
  "queues.*.max_parallel": 2,
  "queues.*.retries": 2,
  "queues.*.timeout": 2,
  "queues.*.on_crash": "fail",
  "queues.*.isolation": "worktree",
  "queues.*.nodes": ["gpu"],
  "queues.*.check": "npm test",
  "queues.*.budgets": [{ usd: 1, window: "1h" }],
  "queues.*.rights": "own",
  "queues.*.producers": ["x"],
  "schedules.*.workflow": "tdd_cycle",
  "schedules.*.args": { test_command: "x" },
  "schedules.*.queue": "q",
  "schedules.*.payload": "p",
  "schedules.*.agent": "y",
  "schedules.*.prompt": "other",
  "schedules.*.cron": "1 0 * * *",
  "schedules.*.fire_at": "2030-01-31T09:00:00Z",
  "schedules.*.timezone": "Europe/Berlin",
  "schedules.*.lifecycle": "once",
  "schedules.*.on_overlap": "kill",
  "schedules.*.missed": "all",
  "schedules.*.timeout": 5,
  "schedules.*.enabled": false,
  "groups.defaults.reducer": "x",
  "groups.defaults.timeout": 5,
  "groups.presets.*.agents": ["y"],
  "groups.presets.*.reducer": "x",
  "groups.presets.*.timeout": 5,
  "workflows.*": { command: "touch x" },
  plugin_dirs: ["more"],
  plugin_registries: ["gh:x/y"],
  "plugins.enabled": false,
  "plugins.deny": ["x"],
  "plugins.limits.memory_mb": 100,
  "plugins.limits.load_timeout": 5,
  "plugins.limits.unresponsive_timeout": 5,
  "plugins.*": { base_url: "https://elsewhere.example", key_env: "OPENAI_API_KEY" },
  "skills.enabled": false,
  "skills.dirs": ["~/notes"],
  "skills.max_per_turn": 1,
  "skills.catalog_chars": 1000,
  "skills.classifier": "openai/gpt",
  "worktrees.dir": "/elsewhere",
  "worktrees.setup": ["npm ci"],
  "worktrees.copy": [".env"],
  "worktrees.link": ["node_modules"],
  "worktrees.ports": 10,
  "claims.automatic": false,
  "skills.registry": "https://elsewhere.example",
  "skills.agent_install": "allow",
  "subagents.enabled": false,
  "subagents.max_spawn_depth": 1,
  "subagents.max_children": 1,
  "subagents.default_timeout": 1,
  "subagents.session_ttl_minutes": 1,
  "subagents.budget.agents": 1,
  "subagents.budget.spawns": 1,
  "subagents.budget.minutes": 1,
  "subagents.budget.output_tokens": 1,
  "subagents.budget.usd": 1,
  "pool.max": 1,
  "hooks.timeout": 1,
  "asks.timeout": 1,
  "messages.max_hops": 1,
  "messages.max_per_minute": 1,
  "models.*.base_url": "https://elsewhere.example",
  "models.*.api": "anthropic",
  "models.*.key_env": "OPENAI_API_KEY",
  "prices.*.input": 2,
  "prices.*.output": 2,
  "prices.*.cache_read": 2,
  "prices.*.cache_write": 2,
  "server.bind": "0.0.0.0",
  "server.port": 8080,
  "server.token_file": "token",
  "server.allowed_hosts": ["elsewhere.example"],
  "telegram.token_env": "TELEGRAM",
  "telegram.token_file": "token",
  "telegram.users": [1],
  "telegram.chats": [1],
  "telegram.agent": "x",
  "telegram.notify": "own",
  "telegram.topics": false,
  "telegram.stream": "off",
  "telegram.api_root": "https://elsewhere.example",
  "webhooks.out.*.url": "https://elsewhere.example",
  "webhooks.out.*.secret_env": "SECRET",
  "webhooks.out.*.secret_file": "secret",
  "webhooks.out.*.events": ["ask.opened"],
  "webhooks.out.*.format": "ntfy",
  "webhooks.out.*.allow_private": true,
  "webhooks.in.*.secret_env": "SECRET",
  "webhooks.in.*.secret_file": "secret",
  "webhooks.in.*.scheme": "github",
  "webhooks.in.*.agent": "x",
  "webhooks.in.*.session": "x",
  "webhooks.in.*.queue": "q",
  "webhooks.in.*.prompt": "look at it",
  "notify.desktop": true,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: how a setting refers to a variable
  "cluster.database": "${DATABASE_URL}",
  "cluster.project": "other",
  "cluster.node": "builder-1",
  "cluster.labels": ["gpu"],
  "cluster.max_sessions": 5,
  "cluster.lease": "5s",
  "cluster.give_up": "10m",
};

/** What an entry needs besides the key that is tried. */
const entries: Map = {
  agents: { harness: "scripted" },
  queues: { agent: "x" },
  schedules: { agent: "x", prompt: "p", cron: "0 0 * * *" },
  presets: { agents: ["x"] },
  prices: { input: 1, output: 1 },
  models: {},
};

const marks = leaves(configEffects, []);

describe("the marks of the configuration's keys", () => {
  it("are there for every key of the schema, and for no other", () => {
    expect(marks.map(([path]) => path).sort()).toEqual(schemaPaths(configSchema, []).sort());
    expect(marks.map(([path]) => path).sort()).toEqual(Object.keys(samples).sort());
  });

  it.each(marks)("%s is marked as what it does", async (path, mark) => {
    const parts = path.split(".");
    const before = await itemsOf(configWith(parts.slice(0, -1), undefined));
    const after = await itemsOf(configWith(parts, samples[path]));
    if (mark === "inert") expect(after).toEqual(before);
    else expect(after).not.toEqual(before);
  });

  it("hold for the settings of the workflows that come with Aegis", async () => {
    for (const { name, config } of catalog()) {
      const known = workflowEffects[name as keyof typeof workflowEffects] as Record<string, Effect>;
      expect(Object.keys(known).sort()).toEqual(Object.keys(config).sort());
      for (const [key, mark] of Object.entries(known)) {
        const items = await itemsOf({ workflows: { [name]: { [key]: config[key] ?? "x" } } });
        expect(items.length > 0, `${name}.${key}`).toBe(mark !== "inert");
      }
    }
  });

  it.each([
    ["skills of the project's own folders", { skills: { dirs: ["docs/skills"] } }],
    ["a stricter rule for installing skills", { skills: { agent_install: "deny" } }],
    ["numbers for a plugin", { plugins: { x: { limit: 3, on: true, off: null } } }],
    ["numbers for a plugin's workflow", { workflows: { x: { tries: 3 } } }],
  ])("let %s pass", async (_, config) => {
    expect(await itemsOf(config)).toEqual([]);
  });

  it.each([
    ["a list", ["rm -rf ."]],
    ["a map", { run: 1 }],
    ["text deep down", [[{ a: "x" }]]],
  ])("take %s for a plugin as something that may run", async (_, value) => {
    expect(await itemsOf({ plugins: { x: { value } } })).toHaveLength(1);
  });
});

it("leaves settings without consent at their defaults", async () => {
  const untrusting: Trust = {
    mayRun: async () => ({ allowed: true }),
    judge: async () => ({ allowed: false, reason: "untrusted", message: "", fix: "", changes: [] }),
  };
  const config = parse({
    server: { token_file: "t", allowed_hosts: ["elsewhere.example"], port: 8080 },
    skills: { dirs: ["~/x"], registry: "https://elsewhere.example", agent_install: "allow", max_per_turn: 1 },
    schedules: { s: entries.schedules },
    workflows: { execute_plan: { check: "touch x" } },
  });
  const choice = { slug: "x", why: "a test" };
  const settings = { config, files: [], agents: [], choice, diagnostics: [], declaredSecrets: new Set<string>() };
  const gated = await trustedSettings(await tempDir(), settings, untrusting, new Contents());
  expect(gated.config.server).toEqual({ bind: "127.0.0.1", port: 8080, allowed_hosts: [] });
  expect(gated.config.skills).toEqual({ ...parse({}).skills, max_per_turn: 1 });
  expect(gated.config.schedules).toEqual({});
  // A run without its check would say that all is well; it is refused instead.
  expect(gated.config.workflows).toEqual({ execute_plan: { check: "touch x" } });
  expect(gated.untrusted.map(({ item }) => item.name).sort()).toEqual([
    ...["s", "server.allowed_hosts", "server.token_file", "skills.agent_install", "skills.dirs", "skills.registry"],
    "workflows.execute_plan",
  ]);
});

function parse(config: unknown): Config {
  return resolveConfig(configSchema.parse(config), new Map());
}

async function itemsOf(config: unknown): Promise<string[]> {
  const parsed = parse(config);
  const agents: AgentProfile[] = Object.entries(parsed.agents).map(([slug, entry]) => toAgent(slug, entry));
  const items = await projectItems(await tempDir(), parsed, agents, new Contents());
  return allOf(items).map(({ kind, name, hash }) => `${kind} ${name} ${hash}`);
}

/** A configuration with one value at a path; a `*` is an entry of that section with what it needs. */
function configWith(path: readonly string[], value: unknown): Map {
  const build = ([key, ...rest]: readonly string[], section: string): unknown => {
    if (key === undefined) return value ?? {};
    const inner = build(rest, key === "*" ? section : key);
    if (key !== "*") return { [key]: inner };
    return { x: isMap(inner) ? { ...(entries[section] as Map | undefined), ...inner } : inner };
  };
  return build(path, "") as Map;
}

function leaves(marks: unknown, path: readonly string[]): [string, Effect][] {
  if (typeof marks === "string" || (isMap(marks) && typeof marks.setting === "string"))
    return [[path.join("."), marks as Effect]];
  return Object.entries(marks as Map).flatMap(([key, mark]) => leaves(mark, [...path, key]));
}

/** The keys of a schema down to where any value or any key may stand. */
function schemaPaths(schema: z.ZodType, path: readonly string[]): string[] {
  const type = bare(schema);
  if (type instanceof z.ZodObject) {
    const more = type.def.catchall;
    const named = Object.entries(type.shape).flatMap(([key, value]) => schemaPaths(value as z.ZodType, [...path, key]));
    const others = more === undefined || more instanceof z.ZodNever ? [] : [[...path, "*"].join(".")];
    return [...named, ...others];
  }
  if (type instanceof z.ZodRecord) {
    const value = bare(type.valueType as z.ZodType);
    const isOpen = value instanceof z.ZodRecord;
    if (value instanceof z.ZodObject) return schemaPaths(value, [...path, "*"]);
    return [isOpen ? [...path, "*"].join(".") : path.join(".")];
  }
  return [path.join(".")];
}

function bare(schema: z.ZodType): z.ZodType {
  const inner = (schema.def as { innerType?: z.ZodType }).innerType;
  return inner === undefined ? schema : bare(inner);
}

function isMap(value: unknown): value is Map {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
