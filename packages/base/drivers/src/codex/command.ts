/** Builds the command of Codex's app server. One server serves every conversation with the same command. */
import { childEnv } from "@aegis/lib/child-env.ts";
import type { ConversationSpec, DriverDeps, SpawnCommand } from "../driver.ts";

export function buildCommand(
  spec: ConversationSpec,
  base: readonly [string, ...string[]],
  env: DriverDeps["env"],
): SpawnCommand {
  const [file, ...before] = base;
  const settings = Object.entries(quiet).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  return { argv: [file, ...before, "app-server", ...settings], env: buildEnv(env, spec.agent.env), cwd: spec.cwd };
}

export function buildEnv(env: DriverDeps["env"], extra: Record<string, string>): Record<string, string> {
  return childEnv(env, ["OPENAI_*", "CODEX_*", "SSL_CERT_FILE", "SSL_CERT_DIR"], extra);
}

/**
 * Values are TOML. Without these settings Codex looks for plugins and updates on the network, and offline it hangs when
 * it exits.
 */
const quiet: Record<string, string> = {
  "features.plugins": "false",
  "features.apps": "false",
  "features.remote_plugin": "false",
  "analytics.enabled": "false",
  check_for_update_on_startup: "false",
  // Without it, Codex would retry an unreachable model forever.
  "features.unbounded_connection_retries": "false",
  // Reloading a plugin may change the plane's tools.
  "features.mcp_tool_list_changed": "true",
  suppress_unstable_features_warning: "true",
};
