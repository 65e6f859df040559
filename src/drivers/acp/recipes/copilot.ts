/** GitHub Copilot CLI. Login and settings stay the user's; rights are given as arguments. */
import { type AcpRecipe, noQuirks } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";

export const copilot: AcpRecipe = {
  harness: "copilot",
  program: {
    name: "Copilot CLI",
    command: "copilot",
    install: "npm install -g @github/copilot",
    version: /(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  commandRequired: false,
  login: "Run `copilot` and use its /login command.",
  passEnv: ["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "XDG_*", "NODE_EXTRA_CA_CERTS"],
  launch: async ({ agent }) => ({
    args: [
      ...["--acp", "--no-auto-update"],
      // Its requests name a tool without its server, so the plane's tools are opened before it can ask.
      `--allow-tool=${planeServer}`,
      ...(agent.permission === "full" ? ["--allow-all"] : []),
    ],
    env: { COPILOT_AUTO_UPDATE: "false" },
    files: [],
    links: [],
  }),
  modes: { read: ["agent"], write: ["agent"], full: ["agent"], auto: ["agent"] },
  plane: { waitMs: 3000, settleMs: 0 },
  naming: {
    // A title is the tool's name only for tools of MCP servers; for its own it is the model's words.
    toolName: (call) => (call.kind === "other" ? call.firstTitle || null : null),
    kinds: {},
    planeTool: () => null,
  },
  usage: "session",
  introduction: "prompt",
  quirks: noQuirks,
};
