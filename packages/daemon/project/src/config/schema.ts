/** The schema of the project files: keys, types and defaults. `references.ts` checks relations between entries. */
import { isIP } from "node:net";
import {
  agentMcpSchema,
  agentSchema,
  onCrashSchema,
  permissionSchema,
  slugMaxLength,
  slugPattern,
  subagentLimitsSchema,
} from "@aegis/contract/agent.ts";
import { webhookEvents } from "@aegis/contract/channel.ts";
import { checkInputSchema } from "@aegis/contract/check.ts";
import { defaultMaxHops, defaultPerMinute } from "@aegis/contract/message.ts";
import { nodeNameSchema, requiredLabelsSchema } from "@aegis/contract/node.ts";
import { sandboxAllowSchema, sandboxLevelSchema } from "@aegis/contract/sandbox.ts";
import { missedSchema, onOverlapSchema } from "@aegis/contract/schedule.ts";
import { queueRightsSchema } from "@aegis/contract/task.ts";
import { isolationSchema } from "@aegis/contract/worktree.ts";
import { cronProblem, isTimezone, zonedTime } from "@aegis/lib/cron.ts";
import { durationMs } from "@aegis/lib/duration.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { z } from "zod";

const text = z.string().min(1, { error: "expected some text" });
const texts = z.array(text);
const positive = z.int().min(1);
const seconds = z.number().positive();
const askTimeout = z.union([z.literal("turn"), seconds], { error: 'expected a number of seconds, or "turn"' });
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
  error: "expected the name of an environment variable: letters, digits and underscores",
});
const url = z.url({ protocol: /^https?$/, error: "expected an http or https address" });

export const nameRule = "expected lower-case letters and digits joined by - or _, starting with a letter";
const slug = z
  .string()
  .max(slugMaxLength, { error: `expected at most ${slugMaxLength} characters` })
  .regex(slugPattern, { error: nameRule });
const named = <T extends z.ZodType>(entry: T) => z.record(slug, entry).default({});

const toolList = z.union([texts, z.literal("none")], { error: "expected a list of tool names, or none" });

const agentEntrySchema = z.strictObject({
  extends: text.optional(),
  description: z.string().max(1000, { error: "expected at most 1000 characters" }).default(""),
  harness: text.optional(),
  provider: text.optional(),
  model: text.optional(),
  effort: agentSchema.shape.effort.unwrap().optional(),
  permission: permissionSchema.optional(),
  prompt: text.optional(),
  command: z
    .union([text, texts.min(1)], { error: "expected a program, or a list of a program and its arguments" })
    .optional(),
  args: z.array(z.string()).optional(),
  playbook: text.optional(),
  options: z.record(z.string(), z.unknown()).default({}),
  env: z.record(variableName, z.string()).default({}),
  tools: toolList.optional(),
  tools_allow: toolList.optional(),
  deny_tools: texts.optional(),
  tools_deny: texts.optional(),
  skills: texts.optional(),
  subagents: subagentLimitsSchema.prefault({}),
  may_end: texts.default([]),
  mcp: agentMcpSchema.default("none"),
  on_crash: onCrashSchema.optional(),
  isolation: isolationSchema.optional(),
  nodes: requiredLabelsSchema.optional(),
  sandbox: sandboxLevelSchema.optional(),
  allow: sandboxAllowSchema.optional(),
});

const budget = z.strictObject({
  usd: z.number().positive().optional(),
  output_tokens: positive.optional(),
  window: z.string().regex(/^[1-9]\d*[mhdw]$/, { error: "expected a number and m, h, d or w, as in 1h" }),
});

const queueEntrySchema = z.strictObject({
  agent: text,
  max_parallel: positive.default(1),
  retries: z.int().min(0).default(0),
  timeout: seconds.optional(),
  on_crash: onCrashSchema.default("retry"),
  isolation: isolationSchema.optional(),
  nodes: requiredLabelsSchema.optional(),
  budgets: z.array(budget).default([]),
  rights: queueRightsSchema.optional(),
  producers: texts.optional(),
  check: checkInputSchema.optional(),
});

const isoTime = z
  .string()
  .refine((time) => zonedTime(time, "UTC") !== null, { error: "expected a time such as 2030-01-31T09:00:00Z" });
const cronForm = "expected five cron fields: minute hour day month weekday, as in 0 9 * * 1-5";

const scheduleEntrySchema = z.strictObject({
  workflow: text.optional(),
  args: z.record(z.string(), z.unknown()).default({}),
  queue: text.optional(),
  payload: text.optional(),
  agent: text.optional(),
  prompt: text.optional(),
  cron: z
    .string()
    .refine((pattern) => cronProblem(pattern) === null, {
      error: ({ input }) => `${cronForm} (${cronProblem(String(input))})`,
    })
    .optional(),
  fire_at: isoTime.optional(),
  timezone: z
    .string()
    .refine(isTimezone, {
      error: ({ input }) =>
        `expected a time zone name such as Europe/Berlin${didYouMean(String(input), Intl.supportedValuesOf("timeZone"))}`,
    })
    .default("UTC"),
  lifecycle: z
    .union([z.enum(["forever", "once"]), z.strictObject({ fires: positive }), z.strictObject({ until: isoTime })], {
      error: "expected forever, once, {fires: N} or {until: TIME}",
    })
    .default("forever"),
  on_overlap: onOverlapSchema.default("skip"),
  missed: missedSchema.default("skip"),
  timeout: seconds.optional(),
  enabled: z.boolean().default(true),
});

const groupPresetSchema = z.strictObject({
  agents: texts.min(1, { error: "expected at least one agent" }),
  reducer: text.optional(),
  timeout: seconds.optional(),
});

const groupDefaults = groupPresetSchema.omit({ agents: true });

const modelSchema = z.strictObject({
  base_url: url.optional(),
  api: z.enum(["openai-chat", "openai-responses", "anthropic", "google"]).optional(),
  key_env: variableName.optional(),
});

const dollars = z.number().min(0);
/** US dollars per million tokens. */
const priceSchema = z.strictObject({
  input: dollars,
  output: dollars,
  cache_read: dollars.optional(),
  cache_write: dollars.optional(),
});

/** `url` is required by `references.ts`: without trust in it, the hook stays in the configuration and sends nothing. */
const webhookOutSchema = z.strictObject({
  url: url.optional(),
  secret_env: variableName.optional(),
  secret_file: text.optional(),
  events: z.array(z.enum(webhookEvents)).min(1).default(["ask.opened", "turn.ended", "task.ended", "run.ended"]),
  format: z.enum(["standard", "ntfy"]).default("standard"),
  allow_private: z.boolean().default(false),
});

const webhookInSchema = z.strictObject({
  secret_env: variableName.optional(),
  secret_file: text.optional(),
  scheme: z.enum(["standard", "github"]).default("standard"),
  agent: text.optional(),
  session: text.optional(),
  queue: text.optional(),
  prompt: text.optional(),
});

const duration = (least: string, most: string) => {
  const error = `expected a time from ${least} to ${most} with its unit, as in 30s, 5m or 1h`;
  return z.string({ error }).refine(
    (written) => {
      const ms = durationMs(written) ?? 0;
      return /[a-z]$/.test(written) && ms >= (durationMs(least) ?? 0) && ms <= (durationMs(most) ?? 0);
    },
    { error },
  );
};

/** `references.ts` requires `database`, and only as the name of a variable. Without trust the daemon does not start. */
const clusterSchema = z.strictObject({
  database: z.string().optional(),
  project: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,49}$/, {
      error: "expected at most 50 lower-case letters, digits and underscores, starting with a letter",
    })
    .optional(),
  node: nodeNameSchema.optional(),
  labels: z.array(slug).default([]),
  max_sessions: positive.optional(),
  lease: duration("1s", "10m").default("10s"),
  give_up: duration("1s", "30d").default("1h"),
});

export const configSchema = z.strictObject({
  default_agent: text.optional(),
  agents: named(agentEntrySchema),
  /** For the project's programs, and for agents that set no level of their own. */
  sandbox: sandboxLevelSchema.default("off"),
  allow: sandboxAllowSchema.prefault({}),
  queues: named(queueEntrySchema),
  schedules: named(scheduleEntrySchema),
  groups: z.strictObject({ defaults: groupDefaults.prefault({}), presets: named(groupPresetSchema) }).prefault({}),
  workflows: named(z.record(z.string(), z.unknown())),
  plugin_dirs: texts.default([".aegis/plugins"]),
  plugin_registries: texts.default([]),
  plugins: z
    .object({
      enabled: z.boolean().default(true),
      deny: texts.default([]),
      limits: z
        .strictObject({
          memory_mb: positive.default(256),
          load_timeout: seconds.default(10),
          unresponsive_timeout: seconds.default(15),
        })
        .prefault({}),
    })
    .catchall(z.record(z.string(), z.unknown()))
    .prefault({}),
  skills: z
    .strictObject({
      enabled: z.boolean().default(true),
      dirs: texts.default([]),
      max_per_turn: z.int().min(0).default(2),
      catalog_chars: z.int().min(500).default(16_000),
      classifier: text.optional(),
      registry: url.default("https://clawhub.ai"),
      agent_install: z.enum(["ask", "allow", "deny"]).default("ask"),
    })
    .prefault({}),
  subagents: z
    .strictObject({
      enabled: z.boolean().default(true),
      max_spawn_depth: z.int().min(0).default(2),
      max_children: positive.default(5),
      default_timeout: seconds.default(300),
      session_ttl_minutes: z.number().positive().default(60),
      budget: z
        .strictObject({
          agents: positive.default(20),
          spawns: positive.default(200),
          minutes: z.number().positive().optional(),
          output_tokens: positive.optional(),
          usd: z.number().positive().optional(),
        })
        .prefault({}),
    })
    .prefault({}),
  worktrees: z
    .strictObject({
      dir: text.optional(),
      setup: texts.default([]),
      copy: texts.default([]),
      link: texts.default([]),
      ports: z.int().min(1).max(100).default(20),
    })
    .prefault({}),
  claims: z.strictObject({ automatic: z.boolean().default(true) }).prefault({}),
  pool: z.strictObject({ max: positive.default(15) }).prefault({}),
  hooks: z.strictObject({ timeout: seconds.default(10) }).prefault({}),
  /** `turn` keeps an ask open as long as the turn that asked. */
  asks: z.strictObject({ timeout: askTimeout.default("turn") }).prefault({}),
  messages: z
    .strictObject({ max_hops: positive.default(defaultMaxHops), max_per_minute: positive.default(defaultPerMinute) })
    .prefault({}),
  models: named(modelSchema),
  prices: z.record(text, priceSchema).default({}),
  server: z
    .strictObject({
      bind: z
        .string()
        .refine((host) => host === "localhost" || isIP(host) !== 0, { error: "expected an IP address or localhost" })
        .default("127.0.0.1"),
      port: z.int().min(0).max(65535).default(0),
      token_file: text.optional(),
      allowed_hosts: z
        .array(z.string().regex(/^[a-z0-9.-]+(:\d+)?$/i, { error: "expected a host name, with or without a port" }))
        .default([]),
    })
    .prefault({}),
  telegram: z
    .strictObject({
      token_env: variableName.optional(),
      token_file: text.optional(),
      users: z.array(z.int().positive({ error: "expected the numeric id of a Telegram user" })).default([]),
      chats: z.array(z.int()).default([]),
      agent: text.optional(),
      notify: z.enum(["own", "asks"]).default("asks"),
      topics: z.boolean().default(true),
      stream: z.enum(["edit", "off"]).default("edit"),
      api_root: url.optional(),
    })
    .optional(),
  webhooks: z.strictObject({ out: named(webhookOutSchema), in: named(webhookInSchema) }).prefault({}),
  notify: z.strictObject({ desktop: z.boolean().default(false) }).prefault({}),
  cluster: clusterSchema.optional(),
});

/** The validated content of the files, before synonyms and prompt files are resolved. */
export type ParsedConfig = z.output<typeof configSchema>;
export type ParsedAgent = z.output<typeof agentEntrySchema>;

/** The keys of the channels with people. Each has the place of its token and the agent of its new sessions. */
export const channelKeys = ["telegram"] as const satisfies readonly (keyof ParsedConfig)[];
export type ChannelKey = (typeof channelKeys)[number];

export function isChannelKey(key: string | undefined): key is ChannelKey {
  return channelKeys.some((known) => known === key);
}
