/** The endpoints of plugins. Those that change an installed plugin are for a person in a browser. */
import { z } from "zod";
import { endpoint } from "./api-parts.ts";
import { missingGateSchema, pluginDetailSchema, pluginViewSchema } from "./plugin.ts";
import { installedPluginSchema, pluginChangeSchema, registryPluginSchema } from "./plugin-install.ts";
import { overrideSchema } from "./skill-install.ts";

const pluginPath = z.object({ plugin: z.string().describe("a plugin's name") });
const installedPath = z.object({ plugin: z.string().min(1).max(200).describe("an installed plugin's name") });
const force = z.boolean().default(false);
const accept = z
  .string()
  .max(200)
  .optional()
  .describe("the digest of a response with outcome consent: the person confirms what it showed");

export const pluginEndpoints = {
  listPlugins: endpoint("List the plugins and their status", {
    output: z.object({
      plugins: z.array(pluginViewSchema),
      /** Includes gates of plugins that no longer exist. */
      missing_gates: z.array(missingGateSchema),
    }),
  }),
  getPlugin: endpoint("Get one plugin: its parts, settings and problems", {
    path: pluginPath,
    output: z.object({ plugin: pluginDetailSchema }),
  }),
  reloadPlugins: endpoint("Reload the config files and changed plugins, or one named plugin in any case", {
    body: z.object({ plugin: z.string().optional().describe("a plugin's name") }),
    output: z.object({ plugins: z.array(pluginViewSchema) }),
  }),
  searchPlugins: endpoint("List the plugins of the registries", {
    query: z.object({ q: z.string().max(200).default("") }),
    output: z.object({
      plugins: z.array(registryPluginSchema),
      /** Registries that could not be read. */
      problems: z.array(z.string()),
    }),
  }),
  listInstalledPlugins: endpoint("List the installed plugins and their sources", {
    output: z.object({ plugins: z.array(installedPluginSchema) }),
  }),
  installPlugin: endpoint("Show what a plugin would run, or install it with a person's consent", {
    body: z.object({
      name: z.string().min(1).max(200),
      from: z
        .string()
        .min(1)
        .max(2000)
        .optional()
        .describe("an absolute path, gh:owner/repo or git+URL; default: a registry"),
      force: force.describe("also replace a folder of this name"),
      accept,
      override: overrideSchema,
    }),
    output: pluginChangeSchema,
  }),
  updatePlugin: endpoint("Show what the newest version changes, or update with a person's consent", {
    path: installedPath,
    body: z.object({ force: force.describe("also replace edited files"), accept, override: overrideSchema }),
    output: pluginChangeSchema,
  }),
  removePlugin: endpoint("Show what removing a plugin does, or remove it with a person's consent", {
    path: installedPath,
    body: z.object({
      purge: z.boolean().default(false).describe("delete the plugin's data too"),
      force: force.describe("also if other plugins need it or its script fails"),
      accept,
    }),
    output: pluginChangeSchema,
  }),
};
