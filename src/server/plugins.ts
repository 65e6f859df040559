import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type PluginHandlers = Pick<Handlers, "listPlugins" | "getPlugin" | "reloadPlugins">;

export function pluginHandlers({ plugins }: Services): PluginHandlers {
  return {
    listPlugins: () => ({ plugins: plugins.list() }),
    getPlugin: ({ path }) => ({ plugin: plugins.get(path.plugin) }),
    reloadPlugins: async ({ body }) => ({ plugins: await plugins.reload(body.plugin ?? null) }),
  };
}
