/** Collects what a person should look at: parts of the project that are untrusted, changed or failed. */
import type { Status } from "@aegis/contract/api.ts";
import type { PluginView } from "@aegis/contract/plugin.ts";
import type { Trust } from "@aegis/plugins/trust/trust.ts";
import { commandItems } from "@aegis/project/trust/items.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import type { UntrustedItem } from "@aegis/project/trust/trusted-settings.ts";

export type Attention = Status["attention"];

export type AttentionOptions = {
  root: string;
  trust: Trust;
  judge: Pick<ConsentCheck, "pluginVerdict">;
  /** The current list, not the one from when the settings were loaded. */
  untrusted: readonly UntrustedItem[];
  plugins: readonly PluginView[];
};

export async function readAttention(options: AttentionOptions): Promise<Attention> {
  const { root, trust, judge } = options;
  const found: Attention = { untrusted: [], changed: [], failed: [] };
  for (const { item, reason } of options.untrusted) found[reason].push(`${item.kind} ${item.name}`);
  for (const { name, place, status } of options.plugins) {
    if (status === "failed") found.failed.push(`plugin ${name}`);
    if (status !== "untrusted") continue;
    const verdict = await judge.pluginVerdict({ name, dir: place }).catch(() => null);
    if (verdict?.allowed === true) continue;
    found[verdict?.reason ?? "untrusted"].push(`plugin ${name}`);
  }
  for (const item of await commandItems(root)) {
    const verdict = await trust.judge(item);
    if (!verdict.allowed) found[verdict.reason].push(`${item.kind} ${item.name}`);
  }
  return found;
}
