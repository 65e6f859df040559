/** goose. Everything a session needs goes through its environment; its own settings and keyring stay in force. */
import type { Permission } from "../../../contract/agent.ts";
import { type AcpRecipe, noQuirks, plainLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";

/** Its `chat` mode closes all tools, the plane's too. */
const modes: Record<Permission, string> = { read: "approve", write: "approve", full: "auto", auto: "smart_approve" };

export const goose: AcpRecipe = {
  harness: "goose",
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
      // The environment rules over its settings file: none of the extensions that are configured there is started.
      EXTENSIONS: "{}",
    },
  }),
  modes: { read: [modes.read], write: [modes.write], full: [modes.full], auto: [modes.auto] },
  // It connects to MCP servers on the first prompt.
  plane: { waitMs: 0, settleMs: 0 },
  naming: {
    // Titles of its own tools are `<tool> · <what it is about to do>`.
    toolName: (call) => call.firstTitle.split(" · ")[0] || null,
    kinds: { shell: "execute", edit: "edit", write: "edit", text_editor: "edit", tree: "read", analyze: "read" },
    // Titles are `<server>: <tool>` with blanks for underscores.
    planeTool: (call) =>
      new RegExp(`^${planeServer}: ([\\w ]+)$`).exec(call.firstTitle)?.[1]?.replaceAll(" ", "_") ?? null,
  },
  usage: "last_call",
  introduction: "prompt",
  quirks: noQuirks,
};
