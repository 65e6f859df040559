/**
 * Qwen Code. Uses the user's home and login. An environment variable can name its system settings file, which overrides
 * all others. So a private copy, based on the administrator's settings, sets what Aegis needs.
 */
import { join } from "node:path";
import { acpFacts, environmentFile } from "../../harness.ts";
import { type AcpLaunch, type AcpRecipe, type LaunchContext, noQuirks, plainLaunch } from "../recipe.ts";
import { allowedServers } from "../servers.ts";
import { metaText, planeServer } from "../tool-calls.ts";
import { mergeSettings, readSettings } from "./settings.ts";

const settingsFile = "qwen-settings.json";

const settings = {
  general: { enableAutoUpdate: false },
  ide: { enabled: false },
  security: { folderTrust: { enabled: false } },
  // This setting would hide the plane's tools behind a search tool.
  tools: { toolSearch: { enabled: false } },
};

export const qwen: AcpRecipe = {
  harness: "qwen",
  ...acpFacts,
  detect: null,
  projectFiles: [{ path: ".qwen", what: "Qwen Code takes settings, commands and extensions from it" }, environmentFile],
  logins: [".qwen"],
  sandbox: null,
  userFiles: [".qwen/settings.json"],
  projectServersOnly: false,
  skillFolders: [],
  mcpTarget: null,
  program: {
    name: "Qwen Code",
    command: "qwen",
    install: "npm install -g @qwen-code/qwen-code",
    version: /^(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  commandRequired: false,
  login: "Run `qwen` once and log in, or set OPENAI_API_KEY for the daemon.",
  passEnv: [
    ...["OPENAI_*", "DASHSCOPE_*", "BAILIAN_*", "ANTHROPIC_*", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ...["QWEN_HOME", "QWEN_RUNTIME_DIR", "NODE_EXTRA_CA_CERTS"],
  ],
  launch,
  // In its own `auto` mode another model approves calls.
  modes: { read: ["default"], write: ["auto-edit", "default"], full: ["yolo", "default"], auto: ["default"] },
  plane: { waitMs: 3000, settleMs: 200, lazyAfterMs: null },
  naming: {
    toolName: () => null,
    kinds: {},
    planeTool: (call) => new RegExp(`^mcp__${planeServer}__(.+)$`).exec(metaText(call, "toolName") ?? "")?.[1] ?? null,
  },
  usage: "chunks",
  introduction: "prompt",
  quirks: noQuirks,
};

async function launch({ stateDir, env, servers }: LaunchContext): Promise<AcpLaunch> {
  const system = env.QWEN_CODE_SYSTEM_SETTINGS_PATH ?? join(systemFolder(), "settings.json");
  const ruling = (await readSettings(system)) ?? {};
  return {
    ...plainLaunch,
    args: ["--acp"],
    // Overrides every list of allowed servers in settings, including the project's `.mcp.json` and extensions.
    onlyPlane: allowedServers("--allowed-mcp-server-names", servers),
    env: {
      QWEN_CODE_NO_RELAUNCH: "1",
      // Without it the first prompt does not wait for the plane's tools.
      QWEN_CODE_LEGACY_MCP_BLOCKING: "1",
      QWEN_CODE_SYSTEM_SETTINGS_PATH: join(stateDir, settingsFile),
      // Its default location follows that of the file above, so it must be set too.
      QWEN_CODE_SYSTEM_DEFAULTS_PATH:
        env.QWEN_CODE_SYSTEM_DEFAULTS_PATH ?? join(systemFolder(), "system-defaults.json"),
    },
    files: [{ name: settingsFile, content: JSON.stringify(mergeSettings(ruling, settings), null, 2) }],
  };
}

/** Where the administrator's files are. */
function systemFolder(): string {
  return process.platform === "darwin" ? "/Library/Application Support/QwenCode" : "/etc/qwen-code";
}
