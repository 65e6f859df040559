/** What Aegis knows about Claude Code without starting it. */
import { join } from "node:path";
import type { Program } from "../cli-harness/probe.ts";
import { addressesIn, claudeFiles, type HarnessFacts, needsNothing } from "../harness.ts";

export const program: Program = {
  name: "Claude Code",
  command: "claude",
  install: "npm install -g @anthropic-ai/claude-code",
  version: /(\d+\.\d+\.\d+) \(Claude Code\)/,
};

export const claudeCodeFacts: HarnessFacts = {
  harness: "claude-code",
  program,
  detect: "claude",
  projectFiles: [...claudeFiles, { path: ".claude/workflows", what: "Claude Code runs programs from it" }],
  logins: [".claude", ".claude.json"],
  sandbox: ({ home, env }) => {
    const own = env.CLAUDE_CONFIG_DIR || join(home, ".claude");
    const below = (names: readonly string[]) => names.map((name) => join(own, name));
    return {
      ...needsNothing,
      // The user's own sessions take hooks, rights and commands from the rest, outside of any sandbox.
      replace: own,
      write: below(["projects/", ".credentials.json"]),
      show: below([
        ...["settings.json", "settings.local.json", "CLAUDE.md", "keybindings.json"],
        ...["agents", "commands", "hooks", "skills", "plugins"],
      ]),
      hosts: [
        ...["*.anthropic.com", "claude.ai", "platform.claude.com"],
        ...addressesIn(env, "ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"),
        ...(env.CLAUDE_CODE_USE_BEDROCK ? ["*.amazonaws.com"] : []),
        ...(env.CLAUDE_CODE_USE_VERTEX ? ["*.googleapis.com"] : []),
        ...(env.CLAUDE_CODE_USE_FOUNDRY ? ["*.azure.com"] : []),
      ],
      // It refuses `permission: full` to root elsewhere.
      env: { IS_SANDBOX: "1" },
    };
  },
  userFiles: [".claude.json", ".claude/settings.json", ".claude/settings.local.json"],
  callsModel: false,
  asksByItself: true,
  scopesTools: "removed",
  usesServers: true,
  projectServersOnly: false,
  skillFolders: [{ folder: ".claude/skills", source: "claude", userSource: "user-claude", tool: "Skill" }],
  agentFolder: { folder: ".claude/agents", source: "claude" },
  models: { vendor: "anthropic", aliases: ["sonnet", "opus", "haiku", "fable", "opusplan"] },
  limitsCalls: true,
  mcpTarget: {
    projectFile: ".mcp.json",
    userFile: ({ home }) => join(home, ".claude.json"),
    key: "mcpServers",
    format: "json",
    // Otherwise Claude Code hides the tools behind its tool search.
    entry: (command, args) => ({ type: "stdio", command, args, alwaysLoad: true }),
  },
};
