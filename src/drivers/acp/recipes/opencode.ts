/**
 * OpenCode, and Kilo which grew from it. The session's settings go in through the environment, where they rule over
 * the user's files without replacing them; login and providers stay the user's.
 */
import { join } from "node:path";
import type { Permission } from "../../../contract/agent.ts";
import { isObject, type Json } from "../../cli-harness/fields.ts";
import { type AcpRecipe, type Launch, type LaunchContext, noQuirks } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";
import { mergeSettings } from "./settings.ts";

/** A call of the plane may wait for a person; its own limit is a minute. */
const planeTimeoutMs = 24 * 60 * 60 * 1000;
const instructionsFile = "instructions.md";

const looking = { read: "allow", glob: "allow", grep: "allow", list: "allow", lsp: "allow" };
/** `auto` keeps what the user's own settings say. */
const permissions: Record<Permission, Json | null> = {
  read: { "*": "ask", ...looking, edit: "deny" },
  write: { "*": "ask", ...looking, edit: "allow" },
  full: { "*": "allow" },
  auto: null,
};

const providerKeys = [
  ...["ANTHROPIC_*", "OPENAI_*", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "GOOGLE_*", "GROQ_API_KEY", "MISTRAL_API_KEY"],
  ...["DEEPSEEK_API_KEY", "XAI_API_KEY", "AWS_*", "AZURE_*", "CEREBRAS_API_KEY", "TOGETHER_API_KEY"],
  ...["FIREWORKS_API_KEY", "HF_TOKEN", "GITHUB_TOKEN", "XDG_*", "NODE_EXTRA_CA_CERTS"],
];

export const opencode: AcpRecipe = forkOf({
  harness: "opencode",
  program: {
    name: "OpenCode",
    command: "opencode",
    install: "npm install -g opencode-ai",
    version: /(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  prefix: "OPENCODE",
  login: "Run `opencode auth login`, or set your provider's key for the daemon.",
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
  login: "Run `kilo auth login`, or set your provider's key for the daemon.",
});

/** `prefix` begins the names of its environment. */
function forkOf(fork: Pick<AcpRecipe, "harness" | "program" | "login"> & { prefix: string }): AcpRecipe {
  const { prefix, harness, program, login } = fork;
  return {
    harness,
    program,
    login,
    commandRequired: false,
    passEnv: [...providerKeys, `${prefix}_API_KEY`, `${prefix}_CONFIG`, `${prefix}_CONFIG_DIR`],
    launch: async (context) => launch(prefix, context),
    modes: { read: ["build", "code"], write: ["build", "code"], full: ["build", "code"], auto: ["build", "code"] },
    plane: { waitMs: 3000, settleMs: 0 },
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

function launch(prefix: string, { agent, stateDir, systemPrompt, env }: LaunchContext): Launch {
  const permission = permissions[agent.permission];
  const own: Json = {
    autoupdate: false,
    experimental: { mcp_timeout: planeTimeoutMs },
    ...(permission === null ? {} : { permission }),
    ...(systemPrompt === "" ? {} : { instructions: [join(stateDir, instructionsFile)] }),
  };
  const content = `${prefix}_CONFIG_CONTENT`;
  return {
    args: ["acp"],
    env: {
      [content]: JSON.stringify(mergeSettings(parseConfig(env[content]), own)),
      [`${prefix}_DISABLE_AUTOUPDATE`]: "1",
    },
    files: systemPrompt === "" ? [] : [{ name: instructionsFile, content: systemPrompt }],
    links: [],
  };
}

function parseConfig(text: string | undefined): Json {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
