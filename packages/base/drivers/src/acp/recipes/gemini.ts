/**
 * Gemini CLI. It has no option for the settings that Aegis needs, and its cleanup at each start deletes chats of other
 * processes. So each session has its own Gemini home: the user's settings with ours merged over them, private chats,
 * and links to all other files of the user, including the login. HOME is unchanged.
 */

import { open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { readJsonl } from "@aegis/lib/jsonl.ts";
import { isObject, type JsonFields, textAt } from "../../cli-harness/fields.ts";
import { keepsOwn } from "../../cli-harness/mcp-servers.ts";
import { acpFacts, addressesIn, environmentFile, needsNothing } from "../../harness.ts";
import { type AcpLaunch, type AcpRecipe, type LaunchContext, noQuirks, plainLaunch } from "../recipe.ts";
import { allowedServers } from "../servers.ts";
import { planeServer } from "../tool-calls.ts";
import { entriesOf, linksTo, mergeSettings, readSettings, refusePlaneName, serversOf } from "./settings.ts";

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
  ...acpFacts,
  detect: "gemini",
  projectFiles: [
    { path: ".gemini", what: "Gemini CLI takes settings, commands and extensions from it" },
    environmentFile,
  ],
  logins: [".gemini"],
  sandbox: ({ home, env, stateDir }) => ({
    ...needsNothing,
    write: [join(stateDir, `${homeFolder}/`)],
    protect: [join(stateDir, homeFolder, ".gemini", settingsFile)],
    show: [join(env.GEMINI_CLI_HOME || home, ".gemini")],
    hosts: [
      ...["generativelanguage.googleapis.com", "oauth2.googleapis.com", "cloudcode-pa.googleapis.com"],
      ...addressesIn(env, "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"),
      ...(env.GOOGLE_GENAI_USE_VERTEXAI ? ["*.googleapis.com"] : []),
    ],
  }),
  userFiles: [".gemini/settings.json"],
  projectServersOnly: false,
  skillFolders: [],
  mcpTarget: {
    projectFile: ".gemini/settings.json",
    userFile: ({ home }) => join(home, ".gemini", settingsFile),
    key: "mcpServers",
    format: "json",
    // Longer than the longest wait of a tool.
    entry: (command, args) => ({ command, args, timeout: 60_000 }),
  },
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
function keptServers(declared: unknown, servers: LaunchContext["servers"]): JsonFields {
  const kept = Object.entries(isObject(declared) ? declared : {}).filter(([name]) => keepsOwn(name, servers));
  return kept.length === 0 ? {} : { mcpServers: Object.fromEntries(kept) };
}

async function launch({ agent, cwd, stateDir, env, servers }: LaunchContext): Promise<AcpLaunch> {
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

/** An hour in which no start can happen. */
const safeHour = "session-2000-01-01T00-";

/**
 * Prevents Gemini CLI from losing a conversation that it loads. It names the file of a conversation after the minute and
 * the first eight characters of the id, so loading within the minute of the last start empties the file; this moves the
 * file. Every load also leaves an empty copy that a later load could mistake for the conversation.
 */
export async function protectHistory(home: string, conversation: string): Promise<void> {
  await removeEmptyCopies(home, conversation);
  const files = (await filesOf(home, conversation)).map((path) => ({
    path,
    folder: dirname(path),
    name: basename(path),
  }));
  const [newest] = files;
  if (newest === undefined || newest.name.startsWith(safeHour)) return;
  const taken = new Set(files.map((file) => file.name));
  const free = Array.from({ length: 60 }, (_, minute) => safeName(minute, conversation)).find(
    (name) => !taken.has(name),
  );
  if (free !== undefined) await rename(newest.path, join(newest.folder, free));
}

async function removeEmptyCopies(home: string, conversation: string): Promise<void> {
  const files = await filesOf(home, conversation);
  if (files.length < 2) return;
  for (const file of files) if (!(await hasMessages(file))) await rm(file, { force: true });
}

/** The conversation's files, most recently written first. */
async function filesOf(home: string, conversation: string): Promise<string[]> {
  const projects = join(home, ".gemini", "tmp");
  const found: { path: string; written: number }[] = [];
  for (const project of await entriesOf(projects)) {
    const chats = join(projects, project, "chats");
    for (const name of await entriesOf(chats)) {
      if (!name.startsWith("session-") || !name.endsWith(`-${shortId(conversation)}.jsonl`)) continue;
      const path = join(chats, name);
      if ((await conversationOf(path)) === conversation) found.push({ path, written: (await stat(path)).mtimeMs });
    }
  }
  return found.toSorted((a, b) => b.written - a.written).map((file) => file.path);
}

async function conversationOf(path: string): Promise<string | null> {
  const file = await open(path, "r");
  try {
    for await (const line of file.readLines()) return textAt(JSON.parse(line), "sessionId");
    return null;
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

async function hasMessages(path: string): Promise<boolean> {
  const records = await readJsonl(path).catch(() => null);
  // Keep a file that cannot be read.
  return records?.some((record) => ["user", "gemini"].includes(textAt(record, "type") ?? "")) ?? true;
}

function safeName(minute: number, conversation: string): string {
  return `${safeHour}${String(minute).padStart(2, "0")}-${shortId(conversation)}.jsonl`;
}

function shortId(conversation: string): string {
  return conversation.slice(0, 8);
}
