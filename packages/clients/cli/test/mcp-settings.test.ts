import { type McpProgram, mcpPrograms } from "@aegis/project/harnesses/mcp-targets.ts";
import { describe, expect, it } from "vitest";
import { edited, settingsFile, snippet } from "../src/commands/mcp/install.ts";

const entry = { command: "/usr/bin/node", args: ["/aegis/cli.js", "--project", "/p", "mcp", "--client", "x"] };
const on = (platform: NodeJS.Platform, env: Record<string, string> = {}) => ({
  root: "/p",
  platform,
  env: { HOME: "/h", ...env },
});

function program(wanted: string): McpProgram {
  const found = mcpPrograms.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no program ${wanted}`);
  return found;
}

describe("the settings files", () => {
  it("depend on the system, the scope and the program's own variables", () => {
    expect(settingsFile(program("claude-desktop"), "user", on("darwin"))).toBe(
      "/h/Library/Application Support/Claude/claude_desktop_config.json",
    );
    expect(settingsFile(program("claude-desktop"), "user", on("linux"))).toBe(
      "/h/.config/Claude/claude_desktop_config.json",
    );
    expect(settingsFile(program("claude-desktop"), "project", on("linux"))).toBeNull();
    expect(settingsFile(program("codex"), "user", on("linux", { CODEX_HOME: "/c" }))).toBe("/c/config.toml");
    expect(settingsFile(program("claude-code"), "project", on("linux"))).toBe("/p/.mcp.json");
  });
});

describe.each(mcpPrograms)("$name", (target) => {
  it("gets its entry in an empty file, and the same file when asked twice", () => {
    const once = edited(target, "", entry, "f");
    expect(once).toContain("/aegis/cli.js");
    expect(edited(target, once, entry, "f")).toBe(once);
    expect(snippet(target, entry)).toContain("/aegis/cli.js");
  });
});

it("keeps the indentation and the other entries of JSON", () => {
  const before = '{\n\t"mcpServers": {\n\t\t"other": {}\n\t},\n\t"x": 1\n}\n';
  const after = edited(program("cursor"), before, entry, "f");
  expect(after).toContain('\n\t\t"other": {}');
  expect(JSON.parse(after)).toMatchObject({ mcpServers: { other: {}, aegis: { command: "/usr/bin/node" } }, x: 1 });
});

it("replaces only its own table of TOML", () => {
  const before = 'model = "m"\n\n[mcp_servers.aegis]\ncommand = "old"\nargs = []\n\n[other]\nx = 1\n';
  const after = edited(program("codex"), before, entry, "f");
  expect(after).toContain('model = "m"\n');
  expect(after).toContain("[other]\nx = 1\n");
  expect(after).not.toContain("old");
  expect(after.match(/\[mcp_servers\.aegis\]/g)).toHaveLength(1);
});

it.each(["// comment\n{}", "[]", '{ "mcpServers": [] }', "{"])(
  "refuses to edit %j, and prints the entry instead",
  (text) => {
    expect(() => edited(program("cursor"), text, entry, "/h/.cursor/mcp.json")).toThrow(/cannot be edited/);
  },
);
