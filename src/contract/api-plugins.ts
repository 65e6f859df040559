/** The endpoints of plugins. */
import { z } from "zod";
import { type Endpoint, none } from "./api-parts.ts";
import { missingGateSchema, pluginDetailSchema, pluginViewSchema } from "./plugin.ts";

const pluginPath = z.object({ plugin: z.string().describe("a plugin's name") });

export const pluginEndpoints = {
  listPlugins: {
    summary: "List the plugins and their status",
    path: none,
    query: none,
    body: none,
    output: z.object({
      plugins: z.array(pluginViewSchema),
      /** Includes gates of plugins that no longer exist. */
      missing_gates: z.array(missingGateSchema),
    }),
  },
  getPlugin: {
    summary: "Get one plugin: its parts, settings and problems",
    path: pluginPath,
    query: none,
    body: none,
    output: z.object({ plugin: pluginDetailSchema }),
  },
  reloadPlugins: {
    summary: "Reload changed plugins; a named plugin is reloaded in any case",
    path: none,
    query: none,
    body: z.object({ plugin: z.string().optional().describe("a plugin's name") }),
    output: z.object({ plugins: z.array(pluginViewSchema) }),
  },
} satisfies Record<string, Endpoint>;
