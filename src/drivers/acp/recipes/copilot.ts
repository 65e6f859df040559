/** GitHub Copilot CLI. Login and settings stay the user's; rights and servers to leave alone are given as arguments. */
import { join } from "node:path";
import { type AcpRecipe, type Launch, type LaunchContext, noQuirks, plainLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";
import { entriesOf } from "./home.ts";
import { declaredServers, inFolders, refusePlaneName, serversOf, withAncestors } from "./other-servers.ts";

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
  launch,
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

async function launch({ agent, gated, cwd, env }: LaunchContext): Promise<Launch> {
  const home = env.COPILOT_HOME ?? join(env.HOME ?? "/", ".copilot");
  const files = [
    join(home, "mcp-config.json"),
    ...inFolders(withAncestors(cwd), [".mcp.json", ".github/mcp.json", ".vscode/mcp.json"]),
  ];
  await refusePlaneName(copilot.program.name, files, serversOf);
  const others = await declaredServers(files, serversOf);
  const plugins = await entriesOf(join(home, "installed-plugins"));
  return {
    ...plainLaunch,
    args: [
      ...["--acp", "--no-auto-update"],
      // Its requests name a tool without its server, so the plane's tools are opened before it can ask.
      `--allow-tool=${planeServer}`,
      ...(agent.permission === "full" && !gated ? ["--allow-all"] : []),
    ],
    onlyPlane: ["--disable-builtin-mcps", ...others.map((name) => `--disable-mcp-server=${name}`)],
    env: { COPILOT_AUTO_UPDATE: "false" },
    warnings:
      plugins.length === 0
        ? []
        : ["Copilot CLI has plugins installed; MCP servers that they bring are started beside Aegis's own."],
  };
}
