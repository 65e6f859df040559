import type { Plugins } from "../runtime/plugins/plugins.ts";
import type { Handlers } from "./adapter.ts";

/** What these handlers call. */
export type PluginServices = { plugins: Pick<Plugins, "list" | "missingGates" | "get" | "reload" | "settled"> };

export function pluginHandlers({ plugins }: PluginServices) {
  return {
    async listPlugins() {
      await plugins.settled();
      return { plugins: plugins.list(), missing_gates: plugins.missingGates };
    },
    async getPlugin({ path }) {
      await plugins.settled();
      return { plugin: plugins.get(path.plugin) };
    },
    reloadPlugins: async ({ body }) => ({ plugins: await plugins.reload(body.plugin ?? null) }),
  } satisfies Partial<Handlers>;
}
