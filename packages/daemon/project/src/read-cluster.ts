/** Reads the cluster settings of a project for commands that need no daemon. */
import type { Environment } from "@aegis/lib/child-env.ts";
import { type ClusterSettings, clusterSettings } from "./cluster.ts";
import { loadConfig } from "./config/load.ts";
import { buildTrust } from "./trust/project-trust.ts";
import { settingItems } from "./trust/setting-items.ts";
import type { UntrustedItem } from "./trust/trusted-settings.ts";

/** Returns null without a `cluster:` section or with an invalid configuration. Throws without the user's consent. */
export async function readCluster(
  root: string,
  env: Environment,
  harnesses: readonly string[],
): Promise<ClusterSettings | null> {
  const { config } = await loadConfig({ cwd: root, harnesses });
  if (config?.cluster === undefined) return null;
  const { trust } = await buildTrust(root, env);
  const untrusted: UntrustedItem[] = [];
  for (const { item } of settingItems(root, config)) {
    const verdict = await trust.judge(item);
    if (!verdict.allowed) untrusted.push({ item, reason: verdict.reason, changes: verdict.changes });
  }
  return clusterSettings({ config, untrusted }, { root, env });
}
