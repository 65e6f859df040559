/** The endpoints of plugins. */
import { z } from "zod";
import { type Endpoint, none } from "./api-parts.ts";
import { pluginDetailSchema, pluginViewSchema } from "./plugin.ts";

const pluginPath = z.object({ plugin: z.string().describe("a plugin's name") });

export const pluginEndpoints = {
  listPlugins: {
    summary: "The plugins that were found, and how they are",
    path: none,
    query: none,
    body: none,
    output: z.object({ plugins: z.array(pluginViewSchema) }),
  },
  getPlugin: {
    summary: "One plugin: what it brings, how it is set, what is wrong with it",
    path: pluginPath,
    query: none,
    body: none,
    output: z.object({ plugin: pluginDetailSchema }),
  },
  reloadPlugins: {
    summary: "Look for changed plugins and take them over; one that is named is loaded anew in any case",
    path: none,
    query: none,
    body: z.object({ plugin: z.string().optional().describe("a plugin's name") }),
    output: z.object({ plugins: z.array(pluginViewSchema) }),
  },
} satisfies Record<string, Endpoint>;
