/**
 * Gemini CLI. Home and login stay the user's. What a driven session needs is set over the settings of user and
 * project by a private copy of the system-wide settings file; what is only a default goes under them.
 */
import { join } from "node:path";
import type { Launch, LaunchContext } from "../recipe.ts";
import { type AcpRecipe, noQuirks } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";
import { protectHistory, removeEmptyCopies } from "./gemini-history.ts";
import { mergeSettings, readSettings } from "./system-settings.ts";

const settingsFile = "gemini-settings.json";
const defaultsFile = "gemini-defaults.json";

const settings = {
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    // Its cleanup deletes every file of a session that was loaded before.
    sessionRetention: { enabled: false },
  },
  ide: { enabled: false },
  // In a folder that is not trusted it starts no MCP server, and `.aegis.yaml` already decides what runs in this one.
  security: { folderTrust: { enabled: false } },
};

export const gemini: AcpRecipe = {
  harness: "gemini",
  program: {
    name: "Gemini CLI",
    command: "gemini",
    install: "npm install -g @google/gemini-cli",
    version: /^(\d+\.\d+\.\d+\S*)/,
  },
  commandRequired: false,
  login: "Run `gemini` once and log in, or set GEMINI_API_KEY for the daemon.",
  passEnv: [
    ...["GEMINI_API_KEY", "GEMINI_CLI_HOME", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"],
    ...["GOOGLE_CLOUD_*", "GOOGLE_GENAI_*", "GOOGLE_APPLICATION_CREDENTIALS", "NODE_EXTRA_CA_CERTS"],
  ],
  launch,
  // Plan mode would also close the plane's tools, so an agent that may only read asks, and is answered by kind.
  modes: { read: ["default"], write: ["autoEdit", "default"], full: ["yolo", "default"], auto: ["default"] },
  plane: { waitMs: 3000, settleMs: 0 },
  naming: {
    nameInCallId: true,
    // The id begins with the tool's name and the title ends with the server's; a model writes at most one of them.
    planeTool: (call) => {
      const tool = new RegExp(`^(\\S+) \\(${planeServer} MCP Server\\)$`).exec(call.firstTitle)?.[1] ?? null;
      return tool !== null && call.id.startsWith(`mcp_${planeServer}_${tool}__`) ? tool : null;
    },
  },
  usage: "quota",
  introduction: "prompt",
  quirks: {
    ...noQuirks,
    replayAfterLoad: true,
    modeEcho: "[MODE_UPDATE] ",
    allowAlways: ["proceed_always_tool", "proceed_always"],
    beforeLoad: (conversation, { env }) => protectHistory(homeOf(env), conversation),
    afterLoad: (conversation, { env }) => removeEmptyCopies(homeOf(env), conversation),
  },
};

async function launch({ agent, stateDir, env }: LaunchContext): Promise<Launch> {
  const system = env.GEMINI_CLI_SYSTEM_SETTINGS_PATH ?? join(systemFolder(), "settings.json");
  const systemDefaults = env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH ?? join(systemFolder(), "system-defaults.json");
  const [ruling, defaults] = [await readSettings(system), await readSettings(systemDefaults)];
  // With a key but no choice of login it makes sessions and then refuses to load them.
  const keyed = env.GEMINI_API_KEY === undefined ? {} : { security: { auth: { selectedType: "gemini-api-key" } } };
  return {
    // Without a pinned model every prompt costs another call that chooses one.
    args: ["--acp", ...(agent.model === null ? [] : ["-m", agent.model])],
    env: {
      // Its launcher keeps a second process that ignores SIGTERM.
      GEMINI_CLI_NO_RELAUNCH: "1",
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: ruling === null ? system : join(stateDir, settingsFile),
      GEMINI_CLI_SYSTEM_DEFAULTS_PATH: defaults === null ? systemDefaults : join(stateDir, defaultsFile),
    },
    files: [
      { name: settingsFile, content: JSON.stringify(mergeSettings(ruling ?? {}, settings), null, 2) },
      { name: defaultsFile, content: JSON.stringify(mergeSettings(keyed, defaults ?? {}), null, 2) },
    ],
  };
}

function homeOf(env: LaunchContext["env"]): string {
  return env.GEMINI_CLI_HOME ?? env.HOME ?? "/";
}

/** Where the administrator's files are. */
function systemFolder(): string {
  return process.platform === "darwin" ? "/Library/Application Support/GeminiCli" : "/etc/gemini-cli";
}
