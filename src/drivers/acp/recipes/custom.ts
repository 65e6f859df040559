/** Any other program that speaks the Agent Client Protocol, by the command its agent's options name. */
import { type AcpRecipe, noQuirks, plainLaunch } from "../recipe.ts";
import { metaText, planeServer } from "../tool-calls.ts";

export const custom: AcpRecipe = {
  harness: "acp",
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
  plane: { waitMs: 3000, settleMs: 200 },
  naming: {
    toolName: () => null,
    kinds: {},
    // Titles of an agent we do not know may be the model's words; these fields are the agent's own.
    planeTool: (call) =>
      new RegExp(`^mcp__${planeServer}__(.+)$`).exec(call.name ?? metaText(call, "toolName") ?? "")?.[1] ?? null,
  },
  usage: "turn",
  introduction: "prompt",
  quirks: noQuirks,
};
