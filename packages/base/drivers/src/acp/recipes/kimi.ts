/**
 * Kimi Code. It has no option that excludes MCP servers, so each session has its own home without the server lists.
 * Settings, models, login and conversations in it are links to the user's files.
 */
import { join } from "node:path";
import { acpFacts } from "../../harness.ts";
import { type AcpRecipe, noQuirks, plainLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";
import { linksTo } from "./settings.ts";

/** A plane call may wait for a person. The agent's own limit is one minute, and it does not request progress. */
const planeTimeoutMs = 24 * 60 * 60 * 1000;

const homeFolder = "kimi-home";
/**
 * The user's servers, plugins (which bring their own servers), and the user's trusted projects: the agent starts
 * project servers only in a trusted project.
 */
const ownEntries = new Set(["mcp.json", "plugins", "workspace-trust"]);

export const kimi: AcpRecipe = {
  harness: "kimi",
  ...acpFacts,
  detect: null,
  projectFiles: [".kimi", ".kimi-code"].map((path) => ({
    path,
    what: "Kimi Code takes settings, servers and plugins from it",
  })),
  logins: [".kimi", ".kimi-code"],
  sandbox: null,
  userFiles: [".kimi", ".kimi-code"].flatMap((folder) =>
    ["config.toml", "mcp.json", "plugins"].map((name) => `${folder}/${name}`),
  ),
  projectServersOnly: true,
  skillFolders: [],
  mcpTarget: null,
  program: {
    name: "Kimi Code",
    command: "kimi",
    install: "npm install -g @moonshot-ai/kimi-code",
    version: /(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  commandRequired: false,
  login: "Run `kimi` once and log in, or set KIMI_API_KEY for the daemon.",
  passEnv: ["KIMI_*", "MOONSHOT_*", "OPENAI_*", "ANTHROPIC_*", "XDG_*", "NODE_EXTRA_CA_CERTS"],
  launch: async ({ stateDir, env }) => ({
    ...plainLaunch,
    args: ["acp"],
    env: {
      KIMI_CODE_HOME: join(stateDir, homeFolder),
      KIMI_CODE_NO_AUTO_UPDATE: "1",
      KIMI_TELEMETRY: "0",
      KIMI_MCP_TOOL_TIMEOUT_MS: String(planeTimeoutMs),
    },
    links: await linksTo(env.KIMI_CODE_HOME ?? join(env.HOME ?? "/", ".kimi-code"), homeFolder, ownEntries),
  }),
  // Its plan mode runs no tool at all.
  modes: { read: ["default"], write: ["default"], full: ["yolo"], auto: ["default"] },
  plane: { waitMs: 3000, settleMs: 0, lazyAfterMs: null },
  naming: {
    toolName: (call) => call.firstTitle || null,
    kinds: {},
    planeTool: (call) =>
      call.kind === "other" ? (new RegExp(`^mcp__${planeServer}__(\\w+)$`).exec(call.firstTitle)?.[1] ?? null) : null,
  },
  usage: "none",
  introduction: "prompt",
  quirks: noQuirks,
};
