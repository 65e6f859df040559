/**
 * What a driver says about its harness. Other packages derive their lists from these facts (`all.ts`), so that a new
 * harness needs no change outside its folder.
 */
import type { AgentSource } from "@aegis/contract/agent.ts";
import type { SkillSource } from "@aegis/contract/skill.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Program } from "./cli-harness/probe.ts";

export type HarnessFacts = {
  readonly harness: string;
  /** Null for a harness inside the daemon. */
  readonly program: Program | null;
  /**
   * The name of its agent in a project without a configuration, if the program is installed; the order is that of
   * `all.ts`. Null if Aegis does not look for it.
   */
  readonly detect: string | null;
  /**
   * Project files that the program reads on its own and that can make it run programs, call other addresses or take
   * rights. A person agrees to them, and agents do not change them. `any` if any program may be behind the harness, so
   * that the files of all harnesses count.
   */
  readonly projectFiles: readonly ProjectFile[] | "any";
  /** The same of the user, relative to the home folder. The program may freely write the rest of its folders. */
  readonly userFiles: readonly string[];
  /** Where the program keeps its login and conversations, relative to the home folder: hidden from all other programs. */
  readonly logins: readonly string[];
  /** What the program needs in a sandbox. Null if Aegis does not know it: the program is then not started in one. */
  readonly sandbox: ((place: SandboxPlace) => SandboxNeeds) | null;
  /** The driver calls the model itself, so plugins see each request, and a model is named with its provider. */
  readonly callsModel: boolean;
  /** Aegis decides about each call of a tool. Otherwise it decides only where the program asks. */
  readonly asksByItself: boolean;
  /**
   * What Aegis does about tools of the harness that an agent may not use: it removes them (`removed`), refuses them
   * where the program asks (`asked`), or nothing, because the agent follows a playbook (`playbook`).
   */
  readonly scopesTools: "removed" | "asked" | "playbook";
  /** Whether the harness uses MCP servers besides those of Aegis. */
  readonly usesServers: boolean;
  /** The program's own servers can only be enabled or disabled together, so an agent's `mcp` names those of the project. */
  readonly projectServersOnly: boolean;
  /** Folders whose skills the program offers to its model by itself, below the project and the user's home. */
  readonly skillFolders: readonly HarnessSkillFolder[];
  /** Where the program keeps agent files in a project, which Aegis reads too. */
  readonly agentFolder: { readonly folder: string; readonly source: AgentSource & "claude" } | null;
  /** `vendor` if the program supports models of one vendor only, and the names of models that only it knows. */
  readonly models: { readonly vendor: string | null; readonly aliases: readonly string[] };
  /** Whether the harness can limit the model calls of a turn. */
  readonly limitsCalls: boolean;
  /** How `aegis mcp install` adds Aegis to the program's MCP servers; null if it does not know how. */
  readonly mcpTarget: McpTarget | null;
};

/** `env` is what the program gets of the daemon's environment and of its agent's. */
export type SandboxPlace = { readonly home: string; readonly env: Environment; readonly stateDir: string };

export type SandboxNeeds = {
  /** Folders and files besides the project that the program changes; they are made if they are missing. */
  readonly write: readonly string[];
  /** What of them other programs take orders from. */
  readonly protect: readonly string[];
  /** What it reads although it is hidden from other programs. */
  readonly show: readonly string[];
  /** A folder of the user in whose place the program sees an empty one of its own, but for `write` and `show`. */
  readonly replace: string | null;
  /** Rules for hosts, or addresses. */
  readonly hosts: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** What a program without files and hosts of its own needs. */
export const needsNothing: SandboxNeeds = { write: [], protect: [], show: [], replace: null, hosts: [], env: {} };

/** The values of variables that hold addresses. */
export function addressesIn(env: Environment, ...names: readonly string[]): string[] {
  return names.flatMap((name) => env[name] ?? []).filter((value) => value !== "");
}

export type ProjectFile = {
  /** A file or a folder, relative to the project. */
  readonly path: string;
  /** For the person who decides. */
  readonly what: string;
  /** The content that counts. Absent if everything does. */
  readonly counts?: CountedContent;
};

/**
 * `settings`: Claude Code's settings with a key that is not harmless. `pages`: pages that name hooks, servers, rights or
 * commands. `server_pages`: pages that name servers or hooks. `variables`: variables that decide which programs run.
 */
export type CountedContent = "settings" | "pages" | "server_pages" | "variables";

export type HarnessSkillFolder = {
  readonly folder: string;
  readonly source: SkillSource;
  readonly userSource: SkillSource;
  /** The tool that loads a skill: an agent that may not use it does not get them from the program. */
  readonly tool: string;
};

export type McpTarget = {
  /** Relative to the project; null if the program has no such file. */
  readonly projectFile: string | null;
  userFile(machine: McpMachine): string;
  /** The key of the servers. */
  readonly key: string;
  readonly format: "json" | "toml";
  /** The entry of a JSON file. */
  entry(command: string, args: readonly string[]): Record<string, unknown>;
};

export type McpMachine = {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
};

/** What follows from the protocol for every program behind ACP. */
export const acpFacts = {
  callsModel: false,
  asksByItself: false,
  scopesTools: "asked",
  usesServers: true,
  agentFolder: null,
  models: { vendor: null, aliases: [] },
  limitsCalls: false,
} as const;

/** Files in the format of Claude Code, which several programs read. */
export const claudeFiles: readonly ProjectFile[] = [
  ...[".claude/settings.json", ".claude/settings.local.json"].map(
    (path): ProjectFile => ({
      path,
      what: "Claude Code and Copilot take hooks, environment and rights from it",
      counts: "settings",
    }),
  ),
  ...[".claude/agents", ".claude/skills", ".claude/commands"].map(
    (path): ProjectFile => ({
      path,
      what: "pages or plugins in it define hooks, servers, rights or commands",
      counts: "pages",
    }),
  ),
];

export const environmentFile: ProjectFile = {
  path: ".env",
  what: "the harness takes variables from it that decide which programs run, or which server gets your key",
  counts: "variables",
};
