/** GitHub Copilot CLI. Uses the user's login and settings; permissions and excluded servers are passed as arguments. */
import { join } from "node:path";
import { keepsOwn } from "../../cli-harness/mcp-servers.ts";
import { acpFacts, claudeFiles, type ProjectFile } from "../../harness.ts";
import { type AcpLaunch, type AcpRecipe, type LaunchContext, noQuirks, plainLaunch } from "../recipe.ts";
import { planeServer } from "../tool-calls.ts";
import { declaredServers, entriesOf, inFolders, refusePlaneName, serversOf, withAncestors } from "./settings.ts";

const projectFiles: readonly ProjectFile[] = [
  ...claudeFiles,
  ...[".github/hooks", ".github/extensions", ".github/copilot", ".github/lsp.json"].map(
    (path): ProjectFile => ({ path, what: "Copilot takes hooks, programs and settings from it" }),
  ),
  { path: ".github/agents", what: "Copilot starts servers that pages in it name", counts: "server_pages" },
  ...[".github/skills", ".agents/skills"].map(
    (path): ProjectFile => ({ path, what: "pages in it permit tools", counts: "pages" }),
  ),
];

export const copilot: AcpRecipe = {
  harness: "copilot",
  ...acpFacts,
  detect: null,
  projectFiles: projectFiles,
  logins: [".copilot"],
  sandbox: null,
  userFiles: [
    ...[".copilot/mcp-config.json", ".copilot/config.json", ".copilot/settings.json", ".copilot/hooks"],
    ".agents/plugins",
  ],
  projectServersOnly: false,
  skillFolders: [],
  mcpTarget: null,
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
  plane: { waitMs: 3000, settleMs: 0, lazyAfterMs: null },
  naming: {
    // The title is the tool's name only for tools of MCP servers; for its own tools the model writes the title.
    toolName: (call) => (call.kind === "other" ? call.firstTitle || null : null),
    kinds: {},
    planeTool: () => null,
  },
  usage: "session",
  introduction: "prompt",
  quirks: noQuirks,
};

async function launch({ agent, gated, cwd, env, servers }: LaunchContext): Promise<AcpLaunch> {
  const home = env.COPILOT_HOME ?? join(env.HOME ?? "/", ".copilot");
  const files = [
    join(home, "mcp-config.json"),
    ...inFolders(withAncestors(cwd), [".mcp.json", ".github/mcp.json", ".vscode/mcp.json"]),
  ];
  await refusePlaneName(copilot.program.name, files, serversOf);
  const declared = await declaredServers(files, serversOf);
  const others = declared.filter((name) => !keepsOwn(name, servers) && !servers.project.has(name));
  const plugins = await entriesOf(join(home, "installed-plugins"));
  return {
    ...plainLaunch,
    args: [
      ...["--acp", "--no-auto-update"],
      // Its permission requests name a tool without its server, so the plane's tools are allowed in advance.
      `--allow-tool=${planeServer}`,
      ...(agent.permission === "full" && !gated ? ["--allow-all"] : []),
    ],
    onlyPlane: [
      ...(servers.own === "all" ? [] : ["--disable-builtin-mcps"]),
      ...others.map((name) => `--disable-mcp-server=${name}`),
    ],
    env: { COPILOT_AUTO_UPDATE: "false" },
    warnings:
      plugins.length === 0
        ? []
        : ["Copilot CLI has plugins installed; their MCP servers are started in addition to Aegis's own."],
  };
}
