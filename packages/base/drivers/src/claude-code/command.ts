/** Builds the command of the Claude Code CLI: arguments, environment, and files that keep secrets out of both. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent, Permission } from "@aegis/contract/agent.ts";
import { claudeNames, parseToolEntry, planeServer } from "@aegis/contract/tool-names.ts";
import { childEnv } from "@aegis/lib/child-env.ts";
import { makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import { type JsonFields, objectAt } from "../cli-harness/fields.ts";
import { chosenServers, projectServersFile } from "../cli-harness/mcp-servers.ts";
import type { ConversationSpec, DriverDeps, PlaneAddress, SpawnCommand } from "../driver.ts";

/** A CLI version that does not support one of these is started without it. */
export const optionalFlags: ReadonlySet<string> = new Set(["--system-prompt-snapshot", "--effort"]);

export type ClaudeLaunch = {
  base: readonly [string, ...string[]];
  /** `from` is the conversation to continue: the same one, another one to fork, or none. */
  conversation: { id: string; from: string | null };
  /** Optional flags that this CLI rejected. */
  without: ReadonlySet<string>;
};

/** The system rejects longer arguments. */
const longestArgument = 100_000;
/** A plane call may wait for a person. Without this limit the CLI ends a silent call after five minutes. */
const planeTimeoutMs = 24 * 60 * 60 * 1000;

/** Also writes the files that the command names. The first of them contains a secret and is read only at start. */
export async function buildCommand(
  spec: ConversationSpec,
  launch: ClaudeLaunch,
  env: DriverDeps["env"],
): Promise<{ command: SpawnCommand; secretFile: string | null }> {
  const temporary = join(spec.stateDir, "tmp");
  await makePrivateDir(temporary);
  const chosen = await chosenServers(spec, env);
  const own = chosen.own === "all" ? {} : await usersServers(spec, chosen.own, { ...env, ...spec.agent.env });
  const servers = { ...own, ...Object.fromEntries(chosen.project), ...planeEntry(spec.plane) };
  const secretFile = Object.keys(servers).length === 0 ? null : await writeServersFile(spec.stateDir, servers);
  const extra = { ...spec.agent.env, TMPDIR: temporary };
  const [file, ...before] = launch.base;
  return {
    command: {
      argv: [
        file,
        ...before,
        ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
        ...["--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio"],
        ...["--permission-mode", permissionModes[spec.agent.permission]],
        // Limits the CLI to the servers of the file below.
        ...(chosen.own === "all" ? [] : ["--strict-mcp-config"]),
        ...(secretFile === null ? [] : ["--mcp-config", secretFile]),
        ...scopeArguments(spec.agent, spec.plane !== null),
        ...(spec.agent.model === null ? [] : ["--model", spec.agent.model]),
        ...conversationArguments(launch.conversation),
        ...(await systemPromptArguments(spec)),
        ...optionalArguments(spec, launch),
      ],
      env: buildEnv(env, extra),
      cwd: spec.cwd,
    },
    secretFile,
  };
}

/** `extra` overrides everything, so that an agent's profile can undo our defaults. */
export function buildEnv(env: DriverDeps["env"], extra: Record<string, string>): Record<string, string> {
  const cloud = isOn(
    { ...env, ...extra },
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
  );
  const child = childEnv(env, cloud ? [...ownNames, ...cloudNames] : ownNames, {
    ...quiet,
    ...(env.CLAUDE_CODE_MAX_RETRIES === undefined ? { CLAUDE_CODE_MAX_RETRIES: "5" } : {}),
    ...extra,
  });
  for (const name of enclosingSession) if (!(name in extra)) delete child[name];
  return child;
}

/** `auto` maps to the CLI's asking mode: in its own `auto` mode another model decides. */
const permissionModes: Record<Permission, string> = {
  read: "plan",
  write: "acceptEdits",
  full: "bypassPermissions",
  auto: "default",
};

const ownNames = ["ANTHROPIC_*", "CLAUDE_CODE_*", "CLAUDE_CONFIG_DIR", "IS_SANDBOX", "NODE_EXTRA_CA_CERTS"];
const cloudNames = ["AWS_*", "GOOGLE_*", "CLOUD_ML_REGION", "VERTEX_*", "AZURE_*"];

/** A daemon started inside a Claude Code session must not pass that session on. */
const enclosingSession = ["CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT"];

const quiet = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
};

function isOn(env: DriverDeps["env"], ...names: string[]): boolean {
  return names.some((name) => env[name] !== undefined && env[name] !== "" && env[name] !== "0");
}

function planeEntry(plane: PlaneAddress | null): JsonFields {
  if (plane === null) return {};
  const server = {
    type: "http",
    url: plane.url,
    headers: { Authorization: `Bearer ${plane.token}` },
    // Without it the model sees only tool names until it searches for them.
    alwaysLoad: true,
    timeout: planeTimeoutMs,
  };
  return { [planeServer]: server };
}

/**
 * A file that only its owner can read: the token is neither in the arguments nor in the environment of the agent's
 * shell.
 */
async function writeServersFile(stateDir: string, mcpServers: JsonFields): Promise<string> {
  const file = join(stateDir, "claude-mcp.json");
  await writeAtomic(file, JSON.stringify({ mcpServers }), { mode: 0o600 });
  return file;
}

function parseSettings(text: string): JsonFields {
  try {
    return objectAt({ settings: JSON.parse(text) as unknown }, "settings");
  } catch {
    return {};
  }
}

/** Servers that the user has added to Claude Code, for all projects or for this one, in Claude Code's own format. */
async function usersServers(
  { cwd, host }: ConversationSpec,
  names: readonly string[],
  env: DriverDeps["env"],
): Promise<JsonFields> {
  if (names.length === 0) return {};
  const file = join(env.CLAUDE_CONFIG_DIR ?? env.HOME ?? "/", ".claude.json");
  const settings = await readFile(file, "utf8").then(parseSettings, (): JsonFields => ({}));
  const local = objectAt(objectAt(settings, "projects"), cwd);
  const known: JsonFields = { ...objectAt(settings, "mcpServers"), ...objectAt(local, "mcpServers") };
  const missing = names.filter((name) => !Object.hasOwn(known, name) || name === planeServer);
  if (missing.length > 0)
    host.notice({
      level: "warning",
      text: `No MCP server ${missing.join(", ")}: neither ${projectServersFile} nor Claude Code's settings have one of that name.`,
    });
  return Object.fromEntries(names.filter((name) => !missing.includes(name)).map((name) => [name, known[name]]));
}

async function systemPromptArguments(spec: ConversationSpec): Promise<string[]> {
  if (spec.systemPrompt === "") return [];
  if (Buffer.byteLength(spec.systemPrompt) <= longestArgument) return ["--append-system-prompt", spec.systemPrompt];
  const file = join(spec.stateDir, "claude-system-prompt.md");
  await writeAtomic(file, spec.systemPrompt, { mode: 0o600 });
  return ["--append-system-prompt-file", file];
}

function conversationArguments({ id, from }: ClaudeLaunch["conversation"]): string[] {
  if (from === null) return ["--session-id", id];
  return from === id ? ["--resume", id] : ["--resume", from, "--fork-session", "--session-id", id];
}

function optionalArguments(spec: ConversationSpec, launch: ClaudeLaunch): string[] {
  const wanted: [string, string][] = [];
  if (spec.agent.effort !== null) wanted.push(["--effort", spec.agent.effort]);
  // Without it a resumed conversation would keep its original system prompt.
  if (launch.conversation.from !== null) wanted.push(["--system-prompt-snapshot", "off"]);
  return wanted.filter(([flag]) => !launch.without.has(flag)).flat();
}

/** Converts an agent's tools to flags of the CLI. The plane hides and refuses its own tools in any case. */
export function scopeArguments(
  agent: Pick<Agent, "tools" | "deny_tools" | "within" | "permission" | "max_turns">,
  hasPlane: boolean,
): string[] {
  const denied = agent.deny_tools.flatMap((text) => rulesFor(text));
  const { offered, approved } = offer(agent);
  const allowed = [...(hasPlane ? [`mcp__${planeServer}`] : []), ...approved];
  return [
    ...(offered === null ? [] : ["--tools", offered.join(",")]),
    ...(allowed.length === 0 ? [] : ["--allowedTools", allowed.join(",")]),
    ...(denied.length === 0 ? [] : ["--disallowedTools", denied.join(",")]),
    ...(agent.max_turns === null ? [] : ["--max-turns", String(agent.max_turns)]),
  ];
}

/** The tools that the CLI offers the model (null for all), and the tool rules about which it need not ask. */
function offer({ tools: own, within = [], permission }: Pick<Agent, "tools" | "within" | "permission">): {
  offered: string[] | null;
  approved: string[];
} {
  const ceilings = within.filter((names) => !names.includes("*")).map(wholeTools);
  const isWithin = (name: string) => ceilings.every((names) => names.has(name));
  const isAll = own === null || own.includes("*");
  if (isAll && ceilings.length === 0) return { offered: null, approved: [] };
  const tools = isAll ? [...(ceilings[0] ?? [])] : own.filter((text) => claudeNames(text).some(isWithin));
  const whole = tools.filter((text) => parseToolEntry(text).limit === null);
  // The CLI asks about the other uses of such a tool. With `full` it never asks, so there the tool is not offered.
  const parts = permission === "full" ? [] : tools.filter((text) => parseToolEntry(text).limit !== null);
  return {
    offered: [...new Set([...whole, ...parts].flatMap((text) => claudeNames(text)))].filter(isWithin),
    approved: parts.flatMap((text) => rulesFor(text)),
  };
}

/** A rule for a part of a tool does not include the whole tool. */
function wholeTools(names: readonly string[]): Set<string> {
  return new Set(names.filter((text) => parseToolEntry(text).limit === null).flatMap((text) => claudeNames(text)));
}

function rulesFor(text: string): string[] {
  const { limit } = parseToolEntry(text);
  const [first, ...more] = claudeNames(text);
  if (first === undefined) return [];
  return limit === null ? [first, ...more] : [`${first}(${limit})`];
}
