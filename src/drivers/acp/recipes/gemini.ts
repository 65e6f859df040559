/**
 * Gemini CLI. It has no switch for the settings a driven session needs, and its cleanup at every start deletes chats
 * of other processes. So each session has a Gemini home of its own: the user's settings with ours over them, chats
 * that nothing else touches, and links to everything else of the user's, the login first. HOME stays the user's.
 */
import { join } from "node:path";
import { type AcpRecipe, type Launch, type LaunchContext, noQuirks, plainLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";
import { protectHistory } from "./gemini-history.ts";
import { linksTo } from "./home.ts";
import { refusePlaneName, serversOf } from "./other-servers.ts";
import { mergeSettings, readSettings } from "./settings.ts";

const homeFolder = "gemini-home";
const settingsFile = "settings.json";
/** What a session has for itself. */
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
  // Plan mode would also close the plane's tools, so an agent that may only read asks, and is answered by kind.
  modes: { read: ["default"], write: ["autoEdit", "default"], full: ["yolo", "default"], auto: ["default"] },
  plane: { waitMs: 3000, settleMs: 0 },
  naming: {
    // Ids are `<tool name>__<id>`.
    toolName: (call) => (call.id.includes("__") ? call.id.slice(0, call.id.lastIndexOf("__")) : null),
    kinds: {},
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
    beforeResume: (conversation, { stateDir }) => protectHistory(join(stateDir, homeFolder), conversation),
  },
};

async function launch({ agent, cwd, stateDir, env }: LaunchContext): Promise<Launch> {
  const users = join(env.GEMINI_CLI_HOME ?? env.HOME ?? "/", ".gemini");
  // With a key but no choice of login it makes sessions and then refuses to load them.
  const defaults = env.GEMINI_API_KEY ? { security: { auth: { selectedType: "gemini-api-key" } } } : {};
  await refusePlaneName(gemini.program.name, [join(cwd, ".gemini", settingsFile)], serversOf);
  const { mcpServers: _, ...usersSettings } = (await readSettings(join(users, settingsFile))) ?? {};
  const merged = mergeSettings(mergeSettings(defaults, usersSettings), settings);
  return {
    ...plainLaunch,
    // Without a pinned model every prompt costs another call that chooses one.
    args: ["--acp", ...(agent.model === null ? [] : ["-m", agent.model])],
    // Rules over every list of allowed servers in settings; those of the project and of extensions are kept out as well.
    onlyPlane: ["--allowed-mcp-server-names", planeServer],
    env: {
      GEMINI_CLI_HOME: join(stateDir, homeFolder),
      // Its launcher keeps a second process that ignores SIGTERM.
      GEMINI_CLI_NO_RELAUNCH: "1",
      // In a folder that is not trusted it starts no MCP server; `.aegis.yaml` already decides what runs in this one.
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    },
    files: [{ name: join(homeFolder, ".gemini", settingsFile), content: JSON.stringify(merged, null, 2) }],
    links: await linksTo(users, join(homeFolder, ".gemini"), ownEntries),
  };
}
