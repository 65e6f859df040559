/** How the Claude Code CLI is started: its arguments, its environment, and the files that keep secrets off both. */
import { join } from "node:path";
import type { Permission } from "../../contract/agent.ts";
import { planeServer } from "../../contract/tool-names.ts";
import { childEnv } from "../../lib/child-env.ts";
import { makePrivateDir, writeAtomic } from "../../lib/files.ts";
import type { Program } from "../cli-harness/probe.ts";
import type { ConversationSpec, DriverDeps, PlaneAddress, SpawnCommand } from "../driver.ts";
import { scopeArguments } from "./scope.ts";

export const program: Program = {
  name: "Claude Code",
  command: "claude",
  install: "npm install -g @anthropic-ai/claude-code",
  version: /(\d+\.\d+\.\d+) \(Claude Code\)/,
};

/** A version of the CLI that does not know one of these is started without it. */
export const optionalFlags: ReadonlySet<string> = new Set(["--system-prompt-snapshot", "--effort"]);

export type Launch = {
  base: readonly [string, ...string[]];
  /** `from` is the conversation it goes on with: itself, another to fork, or none. */
  conversation: { id: string; from: string | null };
  /** Optional flags that this CLI refused. */
  without: ReadonlySet<string>;
};

/** Longer arguments are refused by the system. */
const longestArgument = 100_000;
/** A call of the plane may wait for a person. Without it a silent call is cut after five minutes. */
const planeTimeoutMs = 24 * 60 * 60 * 1000;

/** Also writes the files that the command names. The first of them holds a secret and is only read at start. */
export async function buildCommand(
  spec: ConversationSpec,
  launch: Launch,
  env: DriverDeps["env"],
): Promise<{ command: SpawnCommand; secretFile: string | null }> {
  const temporary = join(spec.stateDir, "tmp");
  await makePrivateDir(temporary);
  const secretFile = spec.plane === null ? null : await writePlaneFile(spec.stateDir, spec.plane);
  const [file, ...before] = launch.base;
  return {
    command: {
      argv: [
        file,
        ...before,
        ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
        ...["--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio"],
        ...["--permission-mode", permissionModes[spec.agent.permission]],
        ...["--strict-mcp-config"],
        ...(secretFile === null ? [] : ["--mcp-config", secretFile]),
        ...scopeArguments(spec.agent, secretFile !== null),
        ...(spec.agent.model === null ? [] : ["--model", spec.agent.model]),
        ...conversationArguments(launch.conversation),
        ...(await systemPromptArguments(spec)),
        ...optionalArguments(spec, launch),
      ],
      env: buildEnv(env, { ...spec.agent.env, TMPDIR: temporary }),
      cwd: spec.cwd,
    },
    secretFile,
  };
}

/** `extra` rules over everything, so that an agent's profile can undo a default of ours. */
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

/** `auto` is the CLI's asking mode: its own `auto` hands the decision to another model. */
const permissionModes: Record<Permission, string> = {
  read: "plan",
  write: "acceptEdits",
  full: "bypassPermissions",
  auto: "default",
};

const ownNames = ["ANTHROPIC_*", "CLAUDE_CODE_*", "CLAUDE_CONFIG_DIR", "IS_SANDBOX", "NODE_EXTRA_CA_CERTS"];
const cloudNames = ["AWS_*", "GOOGLE_*", "CLOUD_ML_REGION", "VERTEX_*", "AZURE_*"];

/** A daemon started from inside a Claude Code session must not pass that session on. */
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

/** A file that only its owner reads: the token is neither in the arguments nor in the environment of the agent's shell. */
async function writePlaneFile(stateDir: string, plane: PlaneAddress): Promise<string> {
  const file = join(stateDir, "claude-mcp.json");
  const server = {
    type: "http",
    url: plane.url,
    headers: { Authorization: `Bearer ${plane.token}` },
    // Otherwise the model sees only names until it searches for them.
    alwaysLoad: true,
    timeout: planeTimeoutMs,
  };
  await writeAtomic(file, JSON.stringify({ mcpServers: { [planeServer]: server } }), { mode: 0o600 });
  return file;
}

async function systemPromptArguments(spec: ConversationSpec): Promise<string[]> {
  if (spec.systemPrompt === "") return [];
  if (Buffer.byteLength(spec.systemPrompt) <= longestArgument) return ["--append-system-prompt", spec.systemPrompt];
  const file = join(spec.stateDir, "claude-system-prompt.md");
  await writeAtomic(file, spec.systemPrompt, { mode: 0o600 });
  return ["--append-system-prompt-file", file];
}

function conversationArguments({ id, from }: Launch["conversation"]): string[] {
  if (from === null) return ["--session-id", id];
  return from === id ? ["--resume", id] : ["--resume", from, "--fork-session", "--session-id", id];
}

function optionalArguments(spec: ConversationSpec, launch: Launch): string[] {
  const wanted: [string, string][] = [];
  if (spec.agent.effort !== null) wanted.push(["--effort", spec.agent.effort]);
  // A resumed conversation would otherwise keep the prompt it was started with.
  if (launch.conversation.from !== null) wanted.push(["--system-prompt-snapshot", "off"]);
  return wanted.filter(([flag]) => !launch.without.has(flag)).flat();
}
