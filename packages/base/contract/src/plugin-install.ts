/** Installing plugins over the API: what a change would do, and the consent to exactly that. */
import { z } from "zod";
import { skillFindingSchema } from "./skill-install.ts";

/** A plugin of the lockfile. */
export const installedPluginSchema = z.object({
  name: z.string(),
  version: z.string().nullable(),
  /** The source that an update fetches again. */
  source: z.string(),
  registry: z.string().nullable(),
  commit: z.string().nullable(),
  installed_at: z.string(),
  updated_at: z.string().nullable(),
});
export type InstalledPlugin = z.infer<typeof installedPluginSchema>;

/** A line of what a person reads before the confirmation. */
export const changeLineSchema = z.object({ level: z.enum(["info", "warning"]), text: z.string() });
export type ChangeLine = z.infer<typeof changeLineSchema>;

/** `consent`: nothing was changed. Repeat the request with the digest to confirm exactly what is shown. */
export const pluginChangeSchema = z.object({
  outcome: z.enum(["installed", "updated", "unchanged", "removed", "consent"]),
  plugin: z.string(),
  version: z.string().nullable(),
  /** The question that the person confirms; null unless the outcome is `consent`. */
  question: z.string().nullable(),
  /** Covers the question, the lines, the findings, the files and the options of the request. */
  digest: z.string().nullable(),
  lines: z.array(changeLineSchema),
  /** The findings of the scan. */
  findings: z.array(skillFindingSchema),
  /** Why the daemon does not run the plugin that is now installed; null if it does. */
  problem: z.string().nullable(),
});
export type PluginChange = z.infer<typeof pluginChangeSchema>;

export const registryPluginSchema = z.object({
  name: z.string(),
  version: z.string().nullable(),
  description: z.string(),
  /** `bundled` for the plugins of Aegis. */
  registry: z.string(),
});
export type RegistryPlugin = z.infer<typeof registryPluginSchema>;
