/** What Aegis knows about Codex without starting it. */
import { join } from "node:path";
import type { Program } from "../cli-harness/probe.ts";
import { addressesIn, type HarnessFacts, needsNothing } from "../harness.ts";

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
  sandbox: ({ home, env }) => {
    const own = env.CODEX_HOME || join(home, ".codex");
    const below = (names: readonly string[]) => names.map((name) => join(own, name));
    return {
      ...needsNothing,
      // The user's own sessions take hooks, rules and skills from the rest, outside of any sandbox.
      replace: own,
      write: below(["sessions/", "archived_sessions/", "auth.json"]),
      show: below([
        ...["config.toml", "AGENTS.md", "hooks.json"],
        ...["agents", "hooks", "plugins", "prompts", "rules", "skills"],
      ]),
      hosts: ["api.openai.com", "chatgpt.com", "auth.openai.com", ...addressesIn(env, "OPENAI_BASE_URL")],
    };
  },
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
