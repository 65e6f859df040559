/** What Aegis knows about Codex without starting it. */
import { join } from "node:path";
import type { Program } from "../cli-harness/probe.ts";
import type { HarnessFacts } from "../harness.ts";

export const program: Program = {
  name: "Codex",
  command: "codex",
  install: "npm install -g @openai/codex",
  version: /codex-cli (\d+\.\d+\.\d+\S*)/,
};

export const codexFacts: HarnessFacts = {
  harness: "codex",
  program,
  detect: "codex",
  projectFiles: [{ path: ".codex", what: "Codex takes settings and servers from it" }],
  logins: [".codex"],
  sandbox: null,
  userFiles: [".codex/config.toml", ".codex/rules"],
  callsModel: false,
  asksByItself: true,
  scopesTools: "asked",
  usesServers: true,
  projectServersOnly: false,
  skillFolders: [],
  agentFolder: null,
  models: { vendor: "openai", aliases: [] },
  limitsCalls: false,
  mcpTarget: {
    projectFile: ".codex/config.toml",
    userFile: ({ home, env }) => join(env.CODEX_HOME || join(home, ".codex"), "config.toml"),
    key: "mcp_servers",
    format: "toml",
    entry: (command, args) => ({ command, args }),
  },
};
