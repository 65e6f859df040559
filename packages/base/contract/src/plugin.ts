/** A plugin provides hooks, tools, workflows, skills, agents and commands. */
import { z } from "zod";

export const pluginNameMaxLength = 64;
/** Names are used as folders, keys and command-line words. */
export const pluginNamePattern = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/;
/** Keys of `plugins` in the project's file that are not plugin names. */
export const reservedPluginNames: readonly string[] = ["enabled", "deny", "limits"];

/** A problem of a plugin, for its author. An error disables the plugin, or the part it names. */
export const pluginDiagnosticSchema = z.object({
  level: z.enum(["error", "warning", "info"]),
  /** Relative to the plugin's folder, absolute if outside it; null for the plugin as a whole. */
  file: z.string().nullable(),
  /** Counts from 1; null for the file as a whole. */
  line: z.int().nullable(),
  message: z.string(),
});
export type PluginDiagnostic = z.infer<typeof pluginDiagnosticSchema>;

/** One setting of a plugin. A key that ends in `_env` names an environment variable; the plugin receives its value. */
export const pluginSettingSchema = z.object({
  type: z.enum(["string", "number", "integer", "boolean", "array", "object", "any"]),
  description: z.string(),
  required: z.boolean(),
  /** Its value is redacted from everything that is stored. */
  secret: z.boolean(),
  enum: z.array(z.unknown()).nullable(),
  /** Absent when there is none. */
  default: z.unknown().optional(),
});
export type PluginSetting = z.infer<typeof pluginSettingSchema>;

/** A program that a manifest declares as a tool: JSON on stdin, one JSON document on stdout. */
export const executableToolSchema = z.object({
  name: z.string(),
  description: z.string(),
  command: z.string(),
  args: z.array(z.string()),
  /** The JSON Schema of its input. */
  schema: z.record(z.string(), z.unknown()),
  timeout_ms: z.number(),
  permission: z.enum(["read", "write", "full"]),
  read_only: z.boolean(),
  required_agent: z.string().nullable(),
  visible_to: z.array(z.string()),
});
export type ExecutableTool = z.infer<typeof executableToolSchema>;

/** `none`: a folder or a file without a manifest. */
export const pluginFormatSchema = z.enum(["plugin.toml", "plugin.json", "claude-code", "agent-plugin", "none"]);
export type PluginFormat = z.infer<typeof pluginFormatSchema>;

/** A part of a plugin for another program that has no effect in Aegis. */
export const unsupportedPartSchema = z.object({
  /** A file or folder relative to the plugin's folder, or a key of the manifest. */
  part: z.string(),
  reason: z.string(),
});
export type UnsupportedPart = z.infer<typeof unsupportedPartSchema>;

export const pluginManifestSchema = z.object({
  name: z.string(),
  /** A display name, if it differs from the name. */
  title: z.string().nullable(),
  version: z.string(),
  description: z.string(),
  format: pluginFormatSchema,
  /** The manifest file, relative to the plugin's folder. */
  file: z.string().nullable(),
  /** SemVer ranges: of Aegis, and of other plugins by name. */
  requires_aegis: z.string().nullable(),
  requires: z.record(z.string(), z.string()),
  /** If this plugin is missing, agents that need it must not run. */
  critical: z.boolean(),
  config_schema: z.record(z.string(), pluginSettingSchema),
  default_config: z.record(z.string(), z.unknown()),
  tools: z.array(executableToolSchema),
  /** `agents` as written in the manifest. */
  agents: z.array(z.unknown()),
  /** The folders of its Markdown files, relative to its folder. */
  folders: z.object({ agents: z.array(z.string()), commands: z.array(z.string()), skills: z.array(z.string()) }),
  /** True if its modules are code to load. Formats of other programs keep scripts there that Aegis must not run. */
  has_modules: z.boolean(),
  unsupported: z.array(unsupportedPartSchema),
});
export type PluginManifest = z.infer<typeof pluginManifestSchema>;

/**
 * `loading`: its code is being loaded in the background; calls of its parts wait. `restarting`: its code died and is being restarted. `failed`: it could not be loaded, or keeps dying. `untrusted`:
 * the user has not trusted it, or it changed since. Nothing of a `failed`, `untrusted` or `disabled` plugin runs.
 */
export const pluginStatusSchema = z.enum(["loading", "loaded", "restarting", "failed", "untrusted", "disabled"]);
export type PluginStatus = z.infer<typeof pluginStatusSchema>;

/** Gates and strict hooks of a plugin that is not loaded as recorded. What they guarded is refused. */
export const missingGateSchema = z.object({
  plugin: z.string(),
  /** `event (name)` of each hook. */
  hooks: z.array(z.string()),
  reason: z.string(),
});
export type MissingGate = z.infer<typeof missingGateSchema>;

export const pluginViewSchema = z.object({
  name: z.string(),
  title: z.string().nullable(),
  version: z.string(),
  description: z.string(),
  format: pluginFormatSchema,
  status: pluginStatusSchema,
  /** Why it is not loaded; also set if an older generation still runs because the new one failed. */
  reason: z.string().nullable(),
  /** Its folder or file. */
  place: z.string(),
  critical: z.boolean(),
  /** How often it was loaded; 0 if never. */
  generation: z.int(),
  /** True if it has code, which runs in its own worker. */
  has_code: z.boolean(),
  /** Its recorded gates and strict hooks, and those of them that are missing; null if it has none. */
  guard: z.object({ hooks: z.array(z.string()), missing: z.array(z.string()) }).nullable(),
  /** Parts for another program that have no effect in Aegis. */
  unsupported: z.array(unsupportedPartSchema),
});
export type PluginView = z.infer<typeof pluginViewSchema>;

/** How often one hook has failed since the daemon started, and its last failure. */
export const hookFailureSchema = z.object({
  event: z.string(),
  hook: z.string(),
  count: z.int(),
  last_at: z.number(),
  kind: z.enum(["exception", "timeout"]),
  error: z.string(),
  /** Null if the thrown value has none. */
  stack: z.string().nullable(),
});
export type HookFailure = z.infer<typeof hookFailureSchema>;

export const pluginDetailSchema = pluginViewSchema.extend({
  requires_aegis: z.string().nullable(),
  requires: z.record(z.string(), z.string()),
  data_dir: z.string(),
  log_file: z.string(),
  modules: z.array(z.string()),
  brings: z.object({
    hooks: z.array(z.object({ event: z.string(), name: z.string(), priority: z.number(), strict: z.boolean() })),
    tools: z.array(
      z.object({ name: z.string(), description: z.string(), permission: z.string(), program: z.boolean() }),
    ),
    workflows: z.array(z.object({ name: z.string(), description: z.string() })),
    skills: z.array(z.string()),
    agents: z.array(z.string()),
    commands: z.array(z.object({ name: z.string(), description: z.string() })),
    reducers: z.array(z.string()),
    channels: z.array(z.object({ name: z.string(), description: z.string() })),
  }),
  /** The available settings, and their values unless secret. */
  settings: z.array(pluginSettingSchema.extend({ key: z.string(), value: z.unknown() })),
  diagnostics: z.array(pluginDiagnosticSchema),
  hook_failures: z.array(hookFailureSchema),
});
export type PluginDetail = z.infer<typeof pluginDetailSchema>;

/** The names that one plugin uses. No other plugin can register a tool or workflow under them. */
export type TakenNames = { plugin: string; tools: readonly string[]; workflows: readonly string[] };
