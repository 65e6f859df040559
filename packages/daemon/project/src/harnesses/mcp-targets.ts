/** The programs that `aegis mcp install` knows: harnesses, and editors in which no agent of Aegis runs. */
import { join } from "node:path";
import { harnesses } from "@aegis/drivers/all.ts";
import type { McpMachine, McpTarget } from "@aegis/drivers/harness.ts";

const plain = (command: string, args: readonly string[]) => ({ command, args });
const json = { key: "mcpServers", format: "json", entry: plain } as const;

const editors: Readonly<Record<string, McpTarget>> = {
  "claude-desktop": {
    ...json,
    projectFile: null,
    userFile: (machine) => join(programFolder(machine, "Claude"), "claude_desktop_config.json"),
  },
  cursor: { ...json, projectFile: ".cursor/mcp.json", userFile: ({ home }) => join(home, ".cursor", "mcp.json") },
  vscode: {
    ...json,
    projectFile: ".vscode/mcp.json",
    userFile: (machine) => join(programFolder(machine, "Code"), "User", "mcp.json"),
    key: "servers",
    entry: (command, args) => ({ type: "stdio", command, args }),
  },
  windsurf: {
    ...json,
    projectFile: null,
    userFile: ({ home }) => join(home, ".codeium", "windsurf", "mcp_config.json"),
  },
  zed: {
    ...json,
    projectFile: ".zed/settings.json",
    userFile: (machine) =>
      machine.platform === "win32"
        ? join(roaming(machine), "Zed", "settings.json")
        : join(configFolder(machine), "zed", "settings.json"),
    key: "context_servers",
  },
};

export type McpProgram = McpTarget & { readonly name: string };

/** In alphabetical order. */
export const mcpPrograms: readonly McpProgram[] = [
  ...Object.entries(editors).map(([name, target]) => ({ name, ...target })),
  ...harnesses.flatMap(({ harness, mcpTarget }) => (mcpTarget === null ? [] : [{ name: harness, ...mcpTarget }])),
].sort((a, b) => (a.name < b.name ? -1 : 1));

function programFolder(machine: McpMachine, name: string): string {
  if (machine.platform === "darwin") return join(machine.home, "Library", "Application Support", name);
  return join(machine.platform === "win32" ? roaming(machine) : configFolder(machine), name);
}

function configFolder({ home, env }: McpMachine): string {
  return env.XDG_CONFIG_HOME || join(home, ".config");
}

function roaming({ home, env }: McpMachine): string {
  return env.APPDATA || join(home, "AppData", "Roaming");
}
