import type { InstalledPlugin, PluginChange, RegistryPlugin } from "@aegis/contract/plugin-install.ts";
import type { Plugins } from "@aegis/plugins/plugins.ts";
import type { DaemonServices } from "./daemon.ts";
import type { Handlers } from "./requests.ts";

type PluginConsent = {
  force: boolean;
  /** The digest of what was shown. */
  accept: string | undefined;
  /** The rules whose malicious findings the person overrides. */
  override: readonly string[];
};

/** Changes the plugins of the project. Without the digest of what was shown, nothing is changed. */
export interface PluginChanges {
  search(text: string, signal: AbortSignal): Promise<{ plugins: RegistryPlugin[]; problems: string[] }>;
  installed(): Promise<InstalledPlugin[]>;
  install(
    request: { name: string; from: string | undefined } & PluginConsent,
    signal: AbortSignal,
  ): Promise<PluginChange>;
  update(request: { name: string } & PluginConsent, signal: AbortSignal): Promise<PluginChange>;
  remove(
    request: { name: string; purge: boolean; force: boolean; accept: string | undefined },
    signal: AbortSignal,
  ): Promise<PluginChange>;
}

/** What these handlers call. */
export type PluginServices = {
  plugins: Pick<Plugins, "list" | "missingGates" | "get" | "reload" | "settled">;
  pluginChanges: PluginChanges;
} & Pick<DaemonServices, "reloadConfig">;

export function pluginHandlers({ plugins, pluginChanges, reloadConfig }: PluginServices) {
  return {
    async listPlugins() {
      await plugins.settled();
      return { plugins: plugins.list(), missing_gates: plugins.missingGates };
    },
    async getPlugin({ path }) {
      await plugins.settled();
      return { plugin: plugins.get(path.plugin) };
    },
    async reloadPlugins({ body: { plugin = null } }) {
      // The configuration says which plugins there are, where they are and what their settings are.
      if (plugin === null) await reloadConfig();
      return { plugins: await plugins.reload(plugin) };
    },
    searchPlugins: ({ query }, signal) => pluginChanges.search(query.q, signal),
    listInstalledPlugins: async () => ({ plugins: await pluginChanges.installed() }),
    installPlugin({ body }, signal) {
      const { name, from, force, accept, override } = body;
      return pluginChanges.install({ name, from, force, accept, override }, signal);
    },
    updatePlugin({ path, body }, signal) {
      const { force, accept, override } = body;
      return pluginChanges.update({ name: path.plugin, force, accept, override }, signal);
    },
    removePlugin({ path, body }, signal) {
      const { purge, force, accept } = body;
      return pluginChanges.remove({ name: path.plugin, purge, force, accept }, signal);
    },
  } satisfies Partial<Handlers>;
}
