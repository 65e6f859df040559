/** goose. All session settings are passed in its environment; its own settings and keyring remain in effect. */
import type { Permission } from "@aegis/contract/agent.ts";
import { acpFacts } from "../../harness.ts";
import { type AcpRecipe, noQuirks, plainLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";

/** Its `chat` mode disables all tools, including the plane's. */
const modes: Record<Permission, string> = { read: "approve", write: "approve", full: "auto", auto: "smart_approve" };

export const goose: AcpRecipe = {
  harness: "goose",
  ...acpFacts,
  detect: null,
  projectFiles: [".agents/plugins", ".goose"].map((path) => ({ path, what: "goose runs hooks of plugins in it" })),
  logins: [".config/goose", ".local/share/goose"],
  sandbox: null,
  userFiles: [".config/goose", ".agents/plugins"],
  projectServersOnly: true,
  skillFolders: [],
  mcpTarget: null,
  program: {
    name: "goose",
    command: "goose",
    install: "npm install -g @aaif/goose",
    version: /(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  commandRequired: false,
  login: "Run `goose configure`, or set GOOSE_PROVIDER and its key for the daemon.",
  passEnv: [
    ...["GOOSE_*", "OPENAI_*", "ANTHROPIC_*", "GOOGLE_*", "GEMINI_API_KEY", "OPENROUTER_*", "DATABRICKS_*", "AZURE_*"],
    ...["AWS_*", "GROQ_API_KEY", "XAI_API_KEY", "OLLAMA_HOST", "XDG_*"],
  ],
  launch: async ({ agent, gated }) => ({
    ...plainLaunch,
    args: ["acp", "--with-builtin", "developer"],
    env: {
      GOOSE_MODE: gated ? modes.read : modes[agent.permission],
      GOOSE_TELEMETRY_ENABLED: "false",
      // The environment overrides its settings file, so it starts none of the extensions configured there.
      EXTENSIONS: "{}",
    },
  }),
  modes: { read: [modes.read], write: [modes.write], full: [modes.full], auto: [modes.auto] },
  // It connects to MCP servers on the first prompt.
  plane: { waitMs: 0, settleMs: 0, lazyAfterMs: null },
  naming: {
    // Titles of its own tools have the form `<tool> · <action>`.
    toolName: (call) => call.firstTitle.split(" · ")[0] || null,
    kinds: { shell: "execute", edit: "edit", write: "edit", text_editor: "edit", tree: "read", analyze: "read" },
    // Titles have the form `<server>: <tool>` with spaces for underscores.
    planeTool: (call) =>
      new RegExp(`^${planeServer}: ([\\w ]+)$`).exec(call.firstTitle)?.[1]?.replaceAll(" ", "_") ?? null,
  },
  usage: "last_call",
  introduction: "prompt",
  quirks: noQuirks,
};
