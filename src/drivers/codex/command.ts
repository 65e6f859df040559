/** How Codex's app server is started. One serves every conversation that is started the same way. */
import { childEnv } from "../../lib/child-env.ts";
import type { Program } from "../cli-harness/probe.ts";
import type { ConversationSpec, DriverDeps, SpawnCommand } from "../driver.ts";

export const program: Program = {
  name: "Codex",
  command: "codex",
  install: "npm install -g @openai/codex",
  version: /codex-cli (\d+\.\d+\.\d+\S*)/,
};

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

/** Values are TOML. Without these Codex looks for plugins and updates on the network and hangs at its end offline. */
const quiet: Record<string, string> = {
  "features.plugins": "false",
  "features.apps": "false",
  "features.remote_plugin": "false",
  "analytics.enabled": "false",
  check_for_update_on_startup: "false",
  // A model that cannot be reached would otherwise be tried for ever.
  "features.unbounded_connection_retries": "false",
  // A reloaded plugin may change the plane's tools.
  "features.mcp_tool_list_changed": "true",
  suppress_unstable_features_warning: "true",
};
