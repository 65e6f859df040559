/** The keys of the project files, their types and defaults. What entries say about each other is in `references.ts`. */
import { isIP } from "node:net";
import { z } from "zod";
import {
  agentSchema,
  permissionSchema,
  slugMaxLength,
  slugPattern,
  subagentLimitsSchema,
} from "../../contract/agent.ts";
import { defaultMaxHops, defaultPerMinute } from "../../contract/message.ts";
import { missedSchema, onOverlapSchema } from "../../contract/schedule.ts";
import { onCrashSchema } from "../../contract/task.ts";
import { cronProblem, isTimezone, zonedTime } from "../../lib/cron.ts";
import { didYouMean } from "../../lib/nearest.ts";

const text = z.string().min(1, { error: "expected some text" });
const texts = z.array(text);
const positive = z.int().min(1);
const seconds = z.number().positive();
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

export const agentEntrySchema = z.strictObject({
  description: z.string().max(1000, { error: "expected at most 1000 characters" }).default(""),
  harness: text.optional(),
  provider: text.optional(),
  model: text.optional(),
  effort: agentSchema.shape.effort.unwrap().optional(),
  permission: permissionSchema.default("auto"),
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
});

const budget = z.strictObject({
  usd: z.number().positive().optional(),
  output_tokens: positive.optional(),
  window: z.string().regex(/^[1-9]\d*[mhdw]$/, { error: "expected a number and m, h, d or w, as in 1h" }),
});

export const queueEntrySchema = z.strictObject({
  agent: text,
  max_parallel: positive.default(1),
  retries: z.int().min(0).default(0),
  timeout: seconds.optional(),
  on_crash: onCrashSchema.default("retry"),
  budgets: z.array(budget).default([]),
});

const isoTime = z
  .string()
  .refine((time) => zonedTime(time, "UTC") !== null, { error: "expected a time such as 2030-01-31T09:00:00Z" });
const cronForm = "expected five cron fields: minute hour day month weekday, as in 0 9 * * 1-5";

export const scheduleEntrySchema = z.strictObject({
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

export const groupPresetSchema = z.strictObject({
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
/** US dollars for a million tokens. */
const priceSchema = z.strictObject({
  input: dollars,
  output: dollars,
  cache_read: dollars.optional(),
  cache_write: dollars.optional(),
});

export const configSchema = z.strictObject({
  default_agent: text.optional(),
  agents: named(agentEntrySchema),
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
  pool: z.strictObject({ max: positive.default(15) }).prefault({}),
  hooks: z.strictObject({ timeout: seconds.default(10) }).prefault({}),
  asks: z.strictObject({ timeout: seconds.default(600) }).prefault({}),
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
    .strictObject({ token: text.optional(), token_env: variableName.optional(), chats: z.array(z.int()).default([]) })
    .optional(),
});

/** The files' content after validation, before synonyms and prompt files are resolved. */
export type ParsedConfig = z.output<typeof configSchema>;
export type ParsedAgent = z.output<typeof agentEntrySchema>;
