/**
 * Gemini CLI. It has no option for the settings that Aegis needs, and its cleanup at each start deletes chats of other
 * processes. So each session has its own Gemini home: the user's settings with ours merged over them, private chats,
 * and links to all other files of the user, including the login. HOME is unchanged.
 */
import { join } from "node:path";
import { isObject, type Json } from "../../cli-harness/fields.ts";
import { keepsOwn } from "../../cli-harness/mcp-servers.ts";
import { type AcpRecipe, type Launch, type LaunchContext, noQuirks, plainLaunch } from "../recipe.ts";
import { allowedServers } from "../servers.ts";
import { planeServer } from "../tool-calls.ts";
import { protectHistory } from "./gemini-history.ts";
import { linksTo } from "./home.ts";
import { refusePlaneName, serversOf } from "./other-servers.ts";
import { mergeSettings, readSettings } from "./settings.ts";

const homeFolder = "gemini-home";
const settingsFile = "settings.json";
/** Entries that are private to a session. */
const ownEntries = new Set([settingsFile, "tmp", "history", "projects.json"]);

const settings = {
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    // Its cleanup deletes every file of a conversation that was loaded before.
    sessionRetention: { enabled: false },
  },
  ide: { enabled: false },
};

export const gemini: AcpRecipe = {
  harness: "gemini",
  program: {
    name: "Gemini CLI",
    command: "gemini",
    install: "npm install -g @google/gemini-cli",
    version: /^(\d+\.\d+\.\d+(?:-[\w.]+)?)/m,
  },
  commandRequired: false,
  login: "Run `gemini` once and log in, or set GEMINI_API_KEY for the daemon.",
  passEnv: [
    ...["GEMINI_API_KEY", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "NODE_EXTRA_CA_CERTS"],
    ...["GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_CLOUD_*", "GOOGLE_GENAI_*"],
    ...["GOOGLE_APPLICATION_CREDENTIALS"],
  ],
  launch,
  // Plan mode would also block the plane's tools, so a read-only agent asks, and Aegis answers by kind.
  modes: { read: ["default"], write: ["autoEdit", "default"], full: ["yolo", "default"], auto: ["default"] },
  plane: { waitMs: 3000, settleMs: 0, lazyAfterMs: null },
  naming: {
    // Ids have the form `<tool name>__<id>`.
    toolName: (call) => (call.id.includes("__") ? call.id.slice(0, call.id.lastIndexOf("__")) : null),
    kinds: {},
    // The id begins with the tool's name and the title ends with the server's. The model controls at most one of them.
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
    beforeResume: (conversation, { stateDir }) => protectHistory(join(stateDir, homeFolder), conversation),
  },
};

/** The user's servers that the agent keeps, in settings syntax. */
function keptServers(declared: unknown, servers: LaunchContext["servers"]): Json {
  const kept = Object.entries(isObject(declared) ? declared : {}).filter(([name]) => keepsOwn(name, servers));
  return kept.length === 0 ? {} : { mcpServers: Object.fromEntries(kept) };
}

async function launch({ agent, cwd, stateDir, env, servers }: LaunchContext): Promise<Launch> {
  const users = join(env.GEMINI_CLI_HOME ?? env.HOME ?? "/", ".gemini");
  // With a key but no selected login type it creates sessions and later refuses to load them.
  const defaults = env.GEMINI_API_KEY ? { security: { auth: { selectedType: "gemini-api-key" } } } : {};
  await refusePlaneName(gemini.program.name, [join(cwd, ".gemini", settingsFile)], serversOf);
  const { mcpServers: declared, ...usersSettings } = (await readSettings(join(users, settingsFile))) ?? {};
  const kept = keptServers(declared, servers);
  const merged = mergeSettings(mergeSettings(defaults, { ...usersSettings, ...kept }), settings);
  return {
    ...plainLaunch,
    // Without a fixed model each prompt makes an extra call that chooses one.
    args: ["--acp", ...(agent.model === null ? [] : ["-m", agent.model])],
    // Overrides every list of allowed servers in settings, and excludes the servers of the project and of extensions.
    onlyPlane: allowedServers("--allowed-mcp-server-names", servers),
    env: {
      GEMINI_CLI_HOME: join(stateDir, homeFolder),
      // Its launcher keeps a second process that ignores SIGTERM.
      GEMINI_CLI_NO_RELAUNCH: "1",
      // It starts no MCP server in an untrusted folder; `.aegis.yaml` already decides what runs in this one.
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    },
    files: [{ name: join(homeFolder, ".gemini", settingsFile), content: JSON.stringify(merged, null, 2) }],
    links: await linksTo(users, join(homeFolder, ".gemini"), ownEntries),
  };
}
