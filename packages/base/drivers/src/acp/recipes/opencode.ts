/**
 * OpenCode, and its fork Kilo. Session settings are passed in the environment, which overrides the user's files without
 * replacing them; login and providers remain the user's. It has no option to disable all MCP servers, so each declared
 * server is disabled by name. It always serves an HTTP API on loopback that runs commands without any question, so each
 * process gets a random password for it.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Permission } from "@aegis/contract/agent.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { isObject, type JsonFields } from "../../cli-harness/fields.ts";
import { keepsOwn } from "../../cli-harness/mcp-servers.ts";
import { acpFacts, needsNothing, type SandboxNeeds } from "../../harness.ts";
import { type AcpLaunch, type AcpRecipe, type LaunchContext, noQuirks, plainLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";
import {
  declaredServers,
  inFolders,
  mergeSettings,
  namesOfServers,
  parseSettings,
  readSettings,
  withAncestors,
} from "./settings.ts";

/** A plane call may wait for a person; the agent's own limit is one minute. */
const planeTimeoutMs = 24 * 60 * 60 * 1000;
const instructionsFile = "instructions.md";

const looking = { read: "allow", glob: "allow", grep: "allow", list: "allow", lsp: "allow" };
/** `auto` keeps the user's own settings. */
const permissions: Record<Permission, JsonFields | null> = {
  read: { "*": "ask", ...looking, edit: "deny" },
  write: { "*": "ask", ...looking, edit: "allow" },
  full: { "*": "allow" },
  auto: null,
};

/** Each tool by name: a user's rule for one tool would override `*`. */
const askAlways: JsonFields = Object.fromEntries(
  ["*", "bash", "edit", "webfetch", "websearch", "codesearch", "task", "skill", ...Object.keys(looking)].map((tool) => [
    tool,
    "ask",
  ]),
);

const providerKeys = [
  ...["ANTHROPIC_*", "OPENAI_*", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "GOOGLE_*", "GROQ_API_KEY", "MISTRAL_API_KEY"],
  ...["DEEPSEEK_API_KEY", "XAI_API_KEY", "AWS_*", "AZURE_*", "CEREBRAS_API_KEY", "TOGETHER_API_KEY"],
  ...["FIREWORKS_API_KEY", "HF_TOKEN", "GITHUB_TOKEN", "XDG_*", "NODE_EXTRA_CA_CERTS"],
];

const opencodeFiles = ["opencode.json", "opencode.jsonc", ".opencode"].map((path) => ({
  path,
  what: "OpenCode takes settings, plugins and tools from it",
}));

export const opencode: AcpRecipe = forkOf({
  harness: "opencode",
  program: {
    name: "OpenCode",
    command: "opencode",
    install: "npm install -g opencode-ai",
    version: /(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  prefix: "OPENCODE",
  name: "opencode",
  settingsFiles: ["opencode.json", "opencode.jsonc"],
  folders: [".opencode"],
  login: "Run `opencode auth login`, or set your provider's key for the daemon.",
  detect: "opencode",
  projectFiles: opencodeFiles,
  logins: [".local/share/opencode"],
  userFiles: [".config/opencode"],
});

export const kilo: AcpRecipe = forkOf({
  harness: "kilo",
  program: {
    name: "Kilo Code",
    command: "kilo",
    install: "npm install -g @kilocode/cli",
    version: /(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  prefix: "KILO",
  name: "kilo",
  settingsFiles: ["kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc", "mcp.json"],
  folders: [".kilo", ".kilocode", ".opencode"],
  login: "Run `kilo auth login`, or set your provider's key for the daemon.",
  detect: null,
  projectFiles: [
    ...opencodeFiles,
    ...["kilo.json", "kilo.jsonc", ".kilo", ".kilocode"].map((path) => ({
      path,
      what: "Kilo Code takes settings, plugins and tools from it",
    })),
  ],
  logins: [".local/share/kilo"],
  userFiles: [".config/kilo", ".config/opencode"],
});

type Fork = Pick<AcpRecipe, "harness" | "program" | "login" | "detect" | "projectFiles" | "userFiles" | "logins"> & {
  /** The prefix of its environment variables. */
  prefix: string;
  /** The name of its folders below the user's config and data folders. */
  name: string;
  settingsFiles: readonly string[];
  /** Folders of a project, and of the user's home, that contain such files. */
  folders: readonly string[];
};

function forkOf(fork: Fork): AcpRecipe {
  const { prefix, harness, program, login, detect, projectFiles, userFiles, logins } = fork;
  return {
    ...acpFacts,
    harness,
    program,
    login,
    detect,
    projectFiles,
    userFiles,
    logins,
    sandbox: ({ home, env }) => sandboxNeeds(fork.name, home, env),
    projectServersOnly: false,
    skillFolders: [],
    mcpTarget: null,
    commandRequired: false,
    passEnv: [...providerKeys, `${prefix}_API_KEY`, `${prefix}_CONFIG`, `${prefix}_CONFIG_DIR`],
    launch: (context) => launch(fork, context),
    modes: { read: ["build", "code"], write: ["build", "code"], full: ["build", "code"], auto: ["build", "code"] },
    plane: { waitMs: 3000, settleMs: 0, lazyAfterMs: null },
    naming: {
      toolName: (call) => call.firstTitle || null,
      kinds: {},
      // The first title of a call is the tool's name; only tools of MCP servers have this kind.
      planeTool: (call) =>
        call.kind === "other" ? (new RegExp(`^${planeServer}_(\\w+)$`).exec(call.firstTitle)?.[1] ?? null) : null,
    },
    usage: "last_call",
    introduction: "launch",
    quirks: { ...noQuirks, lateInputMs: 500 },
  };
}

/** Its provider's host is in the user's settings, which only the user reads: `allow.hosts` names it. */
function sandboxNeeds(name: string, home: string, env: Environment): SandboxNeeds {
  const below = (variable: string, ...folder: string[]) => join(env[variable] || join(home, ...folder), `${name}/`);
  return {
    ...needsNothing,
    write: [
      below("XDG_DATA_HOME", ".local", "share"),
      below("XDG_STATE_HOME", ".local", "state"),
      below("XDG_CACHE_HOME", ".cache"),
    ],
    show: [below("XDG_CONFIG_HOME", ".config")],
    hosts: ["models.dev", "opencode.ai", "registry.npmjs.org", ...providerHosts(env)],
    // Its folders are those of the user, not those of the project's programs.
    env: { XDG_CACHE_HOME: env.XDG_CACHE_HOME || join(home, ".cache") },
  };
}

/** Of the providers whose key it gets. */
function providerHosts(env: Environment): string[] {
  const hosts = {
    ANTHROPIC_API_KEY: "api.anthropic.com",
    OPENAI_API_KEY: "api.openai.com",
    GEMINI_API_KEY: "generativelanguage.googleapis.com",
    GOOGLE_GENERATIVE_AI_API_KEY: "generativelanguage.googleapis.com",
    OPENROUTER_API_KEY: "openrouter.ai",
    GROQ_API_KEY: "api.groq.com",
    XAI_API_KEY: "api.x.ai",
    MISTRAL_API_KEY: "api.mistral.ai",
    DEEPSEEK_API_KEY: "api.deepseek.com",
  };
  return Object.entries(hosts).flatMap(([key, host]) => (env[key] ? [host] : []));
}

async function launch(fork: Fork, context: LaunchContext): Promise<AcpLaunch> {
  const { agent, gated, stateDir, systemPrompt, env, servers } = context;
  const { prefix } = fork;
  const content = `${prefix}_CONFIG_CONTENT`;
  const given = parseConfig(env[content]);
  const declared = new Set([
    ...(await declaredServers(settingsPaths(fork, context), serversOf)),
    ...serversOf(given).flatMap(namesOfServers),
  ]);
  const others = [...declared].filter((name) => !keepsOwn(name, servers) && !servers.project.has(name));
  const permission = gated ? askAlways : permissions[agent.permission];
  const own: JsonFields = {
    autoupdate: false,
    experimental: { mcp_timeout: planeTimeoutMs },
    ...(permission === null ? {} : { permission }),
    ...(others.length === 0 ? {} : { mcp: Object.fromEntries(others.map((name) => [name, { enabled: false }])) }),
    ...(systemPrompt === "" ? {} : { instructions: [join(stateDir, instructionsFile)] }),
  };
  return {
    ...plainLaunch,
    args: ["acp"],
    env: {
      [content]: JSON.stringify(mergeSettings(given, own)),
      [`${prefix}_DISABLE_AUTOUPDATE`]: "1",
      [`${prefix}_SERVER_PASSWORD`]: randomBytes(32).toString("base64url"),
    },
    files: systemPrompt === "" ? [] : [{ name: instructionsFile, content: systemPrompt }],
    warnings: (await remoteSettings(fork, env)).map(
      (url) =>
        `${fork.program.name} takes settings from ${url}; the MCP servers declared there are started in addition to Aegis's own.`,
    ),
  };
}

/** Every file in which it looks for servers. */
function settingsPaths(fork: Fork, { cwd, env }: LaunchContext): string[] {
  const { prefix, name, folders, settingsFiles } = fork;
  const home = env.HOME ?? "/";
  const project = withAncestors(cwd);
  const own = env[`${prefix}_CONFIG`];
  const ownFolder = env[`${prefix}_CONFIG_DIR`];
  return [
    ...inFolders([join(env.XDG_CONFIG_HOME ?? join(home, ".config"), name)], ["config.json", ...settingsFiles]),
    ...(own === undefined ? [] : [own]),
    ...inFolders(project, settingsFiles),
    ...inFolders(inFolders([...project, home], folders), settingsFiles),
    ...(ownFolder === undefined ? [] : inFolders([ownFolder], settingsFiles)),
    ...inFolders([managedFolder(name)], settingsFiles),
  ];
}

function serversOf(settings: JsonFields): unknown[] {
  const { mcp, mcpServers } = settings;
  return [mcp, isObject(mcp) ? mcp.servers : null, mcpServers];
}

/** The URL from which the user's organisation distributes settings; it is not in any settings file. */
async function remoteSettings({ name }: Fork, env: LaunchContext["env"]): Promise<string[]> {
  const data = env.XDG_DATA_HOME ?? join(env.HOME ?? "/", ".local", "share");
  const logins = (await readSettings(join(data, name, "auth.json"))) ?? {};
  return Object.entries(logins).flatMap(([url, login]) => (isObject(login) && login.type === "wellknown" ? [url] : []));
}

/** Where the administrator's files are. */
function managedFolder(name: string): string {
  return process.platform === "darwin" ? `/Library/Application Support/${name}` : `/etc/${name}`;
}

function parseConfig(text: string | undefined): JsonFields {
  try {
    const value = parseSettings(text ?? "");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
