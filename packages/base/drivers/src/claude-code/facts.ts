/** What Aegis knows about Claude Code without starting it. */
import { join } from "node:path";
import type { Program } from "../cli-harness/probe.ts";
import { claudeFiles, type HarnessFacts } from "../harness.ts";

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
