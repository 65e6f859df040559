/** The endpoints that install plugins. Those that change something are for a person in a browser. */
import { z } from "zod";
import { type Endpoint, none } from "./api-parts.ts";
import { installedPluginSchema, pluginChangeSchema, registryPluginSchema } from "./plugin-install.ts";

const pluginPath = z.object({ plugin: z.string().min(1).max(200).describe("an installed plugin's name") });
const force = z.boolean().default(false);
const accept = z
  .string()
  .max(200)
  .optional()
  .describe("the digest of a response with outcome consent: the person confirms what it showed");

export const pluginInstallEndpoints = {
  searchPlugins: {
    summary: "List the plugins of the registries",
    path: none,
    query: z.object({ q: z.string().max(200).default("") }),
    body: none,
    output: z.object({
      plugins: z.array(registryPluginSchema),
      /** Registries that could not be read. */
      problems: z.array(z.string()),
    }),
  },
  listInstalledPlugins: {
    summary: "List the installed plugins and their sources",
    path: none,
    query: none,
    body: none,
    output: z.object({ plugins: z.array(installedPluginSchema) }),
  },
  installPlugin: {
    summary: "Show what a plugin would run, or install it with a person's consent",
    path: none,
    query: none,
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
    }),
    output: pluginChangeSchema,
  },
  updatePlugin: {
    summary: "Show what the newest version changes, or update with a person's consent",
    path: pluginPath,
    query: none,
    body: z.object({ force: force.describe("also replace edited files"), accept }),
    output: pluginChangeSchema,
  },
  removePlugin: {
    summary: "Show what removing a plugin does, or remove it with a person's consent",
    path: pluginPath,
    query: none,
    body: z.object({
      purge: z.boolean().default(false).describe("delete the plugin's data too"),
      force: force.describe("also if other plugins need it or its script fails"),
      accept,
    }),
    output: pluginChangeSchema,
  },
} satisfies Record<string, Endpoint>;
