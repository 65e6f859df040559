/** What Aegis knows about harnesses outside `drivers/` comes from the facts of the drivers. */

import { harnesses } from "@aegis/drivers/all.ts";
import type { HarnessFacts } from "@aegis/drivers/harness.ts";
import { detectable } from "@aegis/project/harnesses/detect.ts";
import { mcpPrograms } from "@aegis/project/harnesses/mcp-targets.ts";
import { harnessFiles } from "@aegis/project/trust/harness-files.ts";
import { skillRoots } from "@aegis/skills/places.ts";
import { expect, it } from "vitest";
import { agentPlaces } from "../../project/src/agents/places.ts";
import { userPaths } from "../src/build-file-guard.ts";

const those = (has: (facts: HarnessFacts) => boolean) => harnesses.filter(has).map(({ harness }) => harness);

it("lists the harnesses that a project without a configuration looks for", () => {
  expect(detectable.map(({ slug, harness, command, name }) => `${slug} ${harness} ${command} ${name}`)).toEqual([
    "claude claude-code claude Claude Code",
    "codex codex codex Codex",
    "gemini gemini gemini Gemini CLI",
    "opencode opencode opencode OpenCode",
  ]);
});

it("lists the project files that a person agrees to, and what of them counts", () => {
  const lines = harnessFiles.map(({ path, harnesses: readers, counts }) => `${path} ${counts ?? ""} ${readers.join()}`);
  expect(lines.sort()).toEqual([
    ".agents/plugins  goose,acp",
    ".agents/skills pages copilot,acp",
    ".claude/agents pages claude-code,copilot,acp",
    ".claude/commands pages claude-code,copilot,acp",
    ".claude/settings.json settings claude-code,copilot,acp",
    ".claude/settings.local.json settings claude-code,copilot,acp",
    ".claude/skills pages claude-code,copilot,acp",
    ".claude/workflows  claude-code,acp",
    ".codex  codex,acp",
    ".env variables gemini,qwen,acp",
    ".gemini  gemini,acp",
    ".github/agents server_pages copilot,acp",
    ".github/copilot  copilot,acp",
    ".github/extensions  copilot,acp",
    ".github/hooks  copilot,acp",
    ".github/lsp.json  copilot,acp",
    ".github/mcp.json  acp",
    ".github/skills pages copilot,acp",
    ".goose  goose,acp",
    ".kilo  kilo,acp",
    ".kilocode  kilo,acp",
    ".kimi  kimi,acp",
    ".kimi-code  kimi,acp",
    ".mcp.json  acp",
    ".opencode  opencode,kilo,acp",
    ".qwen  qwen,acp",
    ".vscode/mcp.json  acp",
    "kilo.json  kilo,acp",
    "kilo.jsonc  kilo,acp",
    "opencode.json  opencode,kilo,acp",
    "opencode.jsonc  opencode,kilo,acp",
  ]);
});

it("lists the files of the user that agents must not change", () => {
  expect([...userPaths].sort()).toEqual([
    ".aegis",
    ".agents/plugins",
    ".claude.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/rules",
    ".config/goose",
    ".config/kilo",
    ".config/opencode",
    ".copilot/config.json",
    ".copilot/hooks",
    ".copilot/mcp-config.json",
    ".copilot/settings.json",
    ".gemini/settings.json",
    ".kimi-code/config.toml",
    ".kimi-code/mcp.json",
    ".kimi-code/plugins",
    ".kimi/config.toml",
    ".kimi/mcp.json",
    ".kimi/plugins",
    ".qwen/settings.json",
  ]);
});

it("lists what harnesses can do and what Aegis can do about them", () => {
  expect(those(({ callsModel }) => callsModel)).toEqual(["native"]);
  expect(those(({ asksByItself }) => asksByItself)).toEqual(["claude-code", "codex", "native", "scripted"]);
  expect(those(({ scopesTools }) => scopesTools === "removed")).toEqual(["claude-code", "native"]);
  expect(those(({ scopesTools }) => scopesTools === "playbook")).toEqual(["scripted"]);
  expect(those(({ usesServers }) => !usesServers)).toEqual(["native", "scripted"]);
  expect(those(({ projectServersOnly }) => projectServersOnly)).toEqual(["goose", "kimi"]);
  expect(those(({ limitsCalls }) => limitsCalls)).toEqual(["claude-code", "native"]);
  expect(harnesses.flatMap(({ harness, models }) => (models.vendor === null ? [] : [harness, models.vendor]))).toEqual([
    ...["claude-code", "anthropic", "codex", "openai"],
  ]);
  expect(harnesses.flatMap(({ models }) => models.aliases)).toEqual(["sonnet", "opus", "haiku", "fable", "opusplan"]);
});

it("lists the folders of agents and skills that harnesses share with Aegis, in order of precedence", () => {
  const places = agentPlaces("/p", "/h").map(({ source, folder }) => `${source} ${folder}`);
  expect(places.slice(0, 3)).toEqual(["project /p/.aegis/agents", "claude /p/.claude/agents", "user /h/.aegis/agents"]);
  const { above } = skillRoots({ root: "/p", home: "/h", bundled: "/b", dirs: [] });
  expect(above.map(({ source, folder, headerless }) => `${source} ${folder} ${headerless}`)).toEqual([
    "project /p/skills false",
    "agents /p/.agents/skills false",
    "aegis /p/.aegis/skills false",
    "claude /p/.claude/skills true",
    "user /h/.aegis/skills false",
    "user-agents /h/.agents/skills false",
    "user-claude /h/.claude/skills true",
  ]);
});

it("lists the programs that aegis mcp install knows", () => {
  const machine = { home: "/h", env: {}, platform: "linux" };
  expect(mcpPrograms.map((one) => `${one.name} ${one.projectFile} ${one.userFile(machine)} ${one.key}`)).toEqual([
    "claude-code .mcp.json /h/.claude.json mcpServers",
    "claude-desktop null /h/.config/Claude/claude_desktop_config.json mcpServers",
    "codex .codex/config.toml /h/.codex/config.toml mcp_servers",
    "cursor .cursor/mcp.json /h/.cursor/mcp.json mcpServers",
    "gemini .gemini/settings.json /h/.gemini/settings.json mcpServers",
    "vscode .vscode/mcp.json /h/.config/Code/User/mcp.json servers",
    "windsurf null /h/.codeium/windsurf/mcp_config.json mcpServers",
    "zed .zed/settings.json /h/.config/zed/settings.json context_servers",
  ]);
});
