/** A plugin brings hooks, tools, workflows, skills, agents and commands. */
import { z } from "zod";

export const pluginNameMaxLength = 64;
/** Names become folders, keys and command-line words. */
export const pluginNamePattern = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/;
/** Keys of `plugins` in the project's file that are no plugin's. */
export const reservedPluginNames: readonly string[] = ["enabled", "deny", "limits"];

/** Something about a plugin that its author should know. An error keeps it, or the part it names, from being used. */
export const pluginDiagnosticSchema = z.object({
  level: z.enum(["error", "warning", "info"]),
  /** Relative to the plugin's folder, absolute outside of it; null for the plugin as a whole. */
  file: z.string().nullable(),
  /** Counts from 1; null for the file as a whole. */
  line: z.number().int().nullable(),
  message: z.string(),
});
export type PluginDiagnostic = z.infer<typeof pluginDiagnosticSchema>;

/** One setting a plugin takes. A key that ends in `_env` names an environment variable; the plugin gets its value. */
export const pluginSettingSchema = z.object({
  type: z.enum(["string", "number", "integer", "boolean", "array", "object", "any"]),
  description: z.string(),
  required: z.boolean(),
  /** Its value is kept out of everything that is written down. */
  secret: z.boolean(),
  enum: z.array(z.unknown()).nullable(),
  /** Absent when there is none. */
  default: z.unknown().optional(),
});
export type PluginSetting = z.infer<typeof pluginSettingSchema>;

/** A program that a manifest lists as a tool: JSON in on stdin, one JSON document out on stdout. */
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

export const pluginManifestSchema = z.object({
  name: z.string(),
  /** What people call it, when that is more than its name. */
  title: z.string().nullable(),
  version: z.string(),
  description: z.string(),
  format: pluginFormatSchema,
  /** The manifest's own file, relative to the plugin's folder. */
  file: z.string().nullable(),
  /** SemVer ranges: of Aegis, and of other plugins by name. */
  requires_aegis: z.string().nullable(),
  requires: z.record(z.string(), z.string()),
  /** Without it the agents that need it must not run. */
  critical: z.boolean(),
  config_schema: z.record(z.string(), pluginSettingSchema),
  default_config: z.record(z.string(), z.unknown()),
  tools: z.array(executableToolSchema),
  /** `agents` as the manifest has them. */
  agents: z.array(z.unknown()),
  /** Where its files for people lie, relative to its folder. */
  folders: z.object({ agents: z.array(z.string()), commands: z.array(z.string()), skills: z.array(z.string()) }),
  /** Its modules are code to load. Formats of other programs keep scripts there that are not ours to run. */
  has_modules: z.boolean(),
});
export type PluginManifest = z.infer<typeof pluginManifestSchema>;

/**
 * `restarting`: its code died and is started again. `failed`: it could not be loaded, or keeps dying. `untrusted`: nobody
 * agreed to run it, or it changed since. Nothing of the last three runs.
 */
export const pluginStatusSchema = z.enum(["loaded", "restarting", "failed", "untrusted", "disabled"]);
export type PluginStatus = z.infer<typeof pluginStatusSchema>;

export const pluginViewSchema = z.object({
  name: z.string(),
  title: z.string().nullable(),
  version: z.string(),
  description: z.string(),
  format: pluginFormatSchema,
  status: pluginStatusSchema,
  /** Why it is not simply loaded; also when an older generation still runs because the new one failed. */
  reason: z.string().nullable(),
  /** Its folder or file. */
  place: z.string(),
  critical: z.boolean(),
  /** Counts how often it was loaded; 0 when it never was. */
  generation: z.number().int(),
  /** It has code, which runs in a worker of its own. */
  has_code: z.boolean(),
});
export type PluginView = z.infer<typeof pluginViewSchema>;

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
  }),
  /** What it can be set to, and what it is set to where that is no secret. */
  settings: z.array(pluginSettingSchema.extend({ key: z.string(), value: z.unknown() })),
  diagnostics: z.array(pluginDiagnosticSchema),
});
export type PluginDetail = z.infer<typeof pluginDetailSchema>;
