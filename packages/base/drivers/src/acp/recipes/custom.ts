/** Any other program that speaks the Agent Client Protocol, started with the command in the agent's options. */
import { acpFacts, needsNothing } from "../../harness.ts";
import { type AcpRecipe, noQuirks, plainLaunch } from "../recipe.ts";
import { metaText, planeServer } from "../tool-calls.ts";

export const custom: AcpRecipe = {
  harness: "acp",
  ...acpFacts,
  detect: null,
  projectFiles: "any",
  logins: [],
  sandbox: () => needsNothing,
  userFiles: [],
  projectServersOnly: false,
  skillFolders: [],
  mcpTarget: null,
  program: {
    name: "The ACP agent",
    command: "",
    install: "what its makers say",
    version: /(\d+\.\d+\.\d+(?:-[\w.]+)?)/,
  },
  commandRequired: true,
  login: "Log in with the agent's own command, or give its key in the agent's `env`.",
  passEnv: ["XDG_*"],
  launch: async () => plainLaunch,
  modes: { read: [], write: [], full: [], auto: [] },
  plane: { waitMs: 3000, settleMs: 200, lazyAfterMs: 500 },
  naming: {
    toolName: () => null,
    kinds: {},
    // The model may write the titles of an unknown agent; the agent itself sets these fields.
    planeTool: (call) =>
      new RegExp(`^mcp__${planeServer}__(.+)$`).exec(call.name ?? metaText(call, "toolName") ?? "")?.[1] ?? null,
  },
  usage: "turn",
  introduction: "prompt",
  quirks: noQuirks,
};
