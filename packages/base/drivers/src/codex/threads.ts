/** Starts or resumes the thread of a conversation, with its permission, its model and its plane. */
import { join, relative } from "node:path";
import type { Permission } from "@aegis/contract/agent.ts";
import { planeServer } from "@aegis/contract/tool-names.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { isInside, makePrivateDir } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { type JsonFields, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import { chosenServers, keepsOwn, projectServersFile } from "../cli-harness/mcp-servers.ts";
import { type ConversationSpec, DriverError } from "../driver.ts";
import { mustAsk } from "../tool-approval.ts";
import { type Rpc, RpcError } from "./rpc.ts";
import { hasTerminals, noTerminals, terminalsNotice } from "./terminals.ts";
import { scopedFeatures } from "./tool-access.ts";

export type Thread = {
  id: string;
  /** Repeated with every turn: if the model of a thread changes, Codex replaces the thread by a summary. */
  model: string;
};

export type OpenThread = Thread & {
  resumed: boolean;
  /** Terminals could not be switched off, so the agent may type into running commands. */
  terminals: boolean;
};

/** Throws `DriverError`. `unload` makes another server unload a thread; it returns false if no server has it. */
export async function openThread(
  rpc: Rpc,
  spec: ConversationSpec,
  unload: (threadId: string) => Promise<boolean>,
  env: Environment,
): Promise<OpenThread> {
  const thread = await startedThread(rpc, spec, unload, env);
  const terminals = await hasTerminals(rpc, thread.id);
  if (terminals) spec.host.notice({ level: "error", text: terminalsNotice });
  return { ...thread, terminals };
}

async function startedThread(
  rpc: Rpc,
  spec: ConversationSpec,
  unload: (threadId: string) => Promise<boolean>,
  env: Environment,
): Promise<Omit<OpenThread, "terminals">> {
  const before = spec.resume === null ? null : parseName(spec.resume);
  const other = spec.fork === null ? null : parseName(spec.fork);
  const model = spec.agent.model ?? before?.model ?? other?.model ?? null;
  const params = await threadParams(rpc, spec, model, env);
  if (before !== null) {
    try {
      const resume = () => rpc.call("thread/resume", { ...params, threadId: before.id, excludeTurns: true });
      const resumed = await resume().catch(async (error: unknown) => {
        if (!(await isFreed(rpc, error, before.id, unload))) throw error;
        return resume();
      });
      return { ...(await remember(spec, params, resumed, before.model)), resumed: true };
    } catch (error) {
      if (!isUnknownThread(error)) throw threadError(error);
      await spec.host.remember(null);
      noteLoss(spec, before.id, other === null ? "without its earlier history" : "from its fork point");
    }
  }
  if (other !== null) {
    try {
      const forked = await rpc.call("thread/fork", { ...params, threadId: other.id, excludeTurns: true });
      return { ...(await remember(spec, params, forked, other.model)), resumed: false };
    } catch (error) {
      if (!isUnknownThread(error)) throw threadError(error);
      noteLoss(spec, other.id, "without its earlier history");
    }
  }
  const started = await rpc.call("thread/start", params).catch((error: unknown) => {
    throw threadError(error);
  });
  return { ...(await remember(spec, params, started, null)), resumed: false };
}

/** The user's messages of a thread, or null if Codex does not show them. */
export async function userTexts(rpc: Rpc, threadId: string): Promise<string[] | null> {
  const answer = await rpc.call("thread/read", { threadId, includeTurns: true }).catch(() => null);
  if (answer === null) return null;
  const items = listAt(objectAt(answer, "thread"), "turns").flatMap((turn) => listAt(turn, "items"));
  return items
    .filter((item) => textAt(item, "type") === "userMessage")
    .flatMap((item) => listAt(item, "content"))
    .flatMap((part) => textAt(part, "text") ?? []);
}

async function isFreed(
  rpc: Rpc,
  error: unknown,
  threadId: string,
  unload: (threadId: string) => Promise<boolean>,
): Promise<boolean> {
  if (!(error instanceof RpcError)) return false;
  if (isHeldElsewhere(error)) return unload(threadId);
  if (!/is archived/i.test(error.message)) return false;
  await rpc.call("thread/unarchive", { threadId });
  return true;
}

function isHeldElsewhere(error: unknown): boolean {
  return error instanceof RpcError && /active writer/i.test(error.message);
}

function isUnknownThread(error: unknown): boolean {
  return error instanceof RpcError && /no rollout found|invalid session id|not found/i.test(error.message);
}

function noteLoss(spec: ConversationSpec, thread: string, then: string): void {
  const text = `Codex no longer has a record of this conversation (${thread}): it continues ${then}.`;
  spec.host.notice({ level: "warning", text });
}

/** Parses the name passed to `remember`. */
export function parseName(name: string): Thread {
  const [id = "", model = ""] = name.split(" ");
  return { id, model };
}

/**
 * The remembered name includes the model: a profile may leave the choice to Codex, and a resumed thread must keep it.
 */
async function remember(
  spec: ConversationSpec,
  params: JsonFields,
  answer: JsonFields,
  modelBefore: string | null,
): Promise<Thread> {
  const wanted = textAt(objectAt(params, "config"), "default_permissions");
  if (wanted !== null && textAt(objectAt(answer, "activePermissionProfile"), "id") !== wanted)
    throw threadError(new Error("it did not accept the sandbox settings"));
  const id = textAt(objectAt(answer, "thread"), "id");
  if (id === null) throw threadError(new Error("it returned no thread id"));
  const model = textAt(answer, "model") ?? spec.agent.model ?? modelBefore ?? "";
  const name = `${id} ${model}`.trim();
  if (name !== spec.resume) await spec.host.remember(name);
  return { id, model };
}

async function threadParams(
  rpc: Rpc,
  spec: ConversationSpec,
  model: string | null,
  env: Environment,
): Promise<JsonFields> {
  const temporary = join(spec.stateDir, "tmp");
  // Codex's sandbox fails if the folder is missing.
  await makePrivateDir(temporary);
  const { sandbox, approvalPolicy } = spec.host.confined ? confinedRights(spec) : rights[spec.agent.permission];
  const profile = sandbox === workspace ? await guardedProfile(rpc, spec, temporary) : null;
  return {
    cwd: spec.cwd,
    ...(model === null || model === "" ? {} : { model }),
    // If a thread gets both, Codex applies the sandbox and ignores the profile.
    ...(profile === null ? { sandbox } : {}),
    approvalPolicy,
    // A call can be stopped only if Codex asks about it; Aegis allows the harmless ones here.
    ...(asksAlways(spec) ? { approvalPolicy: "untrusted" } : {}),
    // Otherwise another model may answer instead of the user.
    approvalsReviewer: "user",
    ...(spec.systemPrompt === "" ? {} : { developerInstructions: spec.systemPrompt }),
    config: {
      ...scopedFeatures(spec.agent),
      ...noTerminals,
      ...profile,
      mcp_servers: { ...(await otherServers(rpc, spec, env)), ...planeConfig(spec) },
      // With the default excludes, variables like *KEY* and *TOKEN* do not reach the agent's shell.
      shell_environment_policy: {
        ignore_default_excludes: false,
        // In a sandbox its `/tmp` is private already.
        ...(spec.host.confined ? {} : { set: { TMPDIR: temporary } }),
      },
    },
  };
}

/**
 * The workspace sandbox with the guarded paths read-only: a write there leaves the sandbox, so Codex asks. Null for a
 * Codex version without such profiles.
 */
async function guardedProfile(
  rpc: Rpc,
  { host, cwd }: ConversationSpec,
  temporary: string,
): Promise<JsonFields | null> {
  if (host.guarded.length === 0) return null;
  const isKnown = await rpc.call("permissionProfile/list", {}).then(
    () => true,
    () => false,
  );
  if (!isKnown) return null;
  const roots: JsonFields = { ".": "write" };
  for (const path of host.guarded) roots[path] = "read";
  if (isInside(cwd, temporary)) roots[relative(cwd, temporary)] = "write";
  return {
    default_permissions: profileName,
    permissions: { [profileName]: { extends: ":workspace", filesystem: { ":workspace_roots": roots } } },
  };
}

const profileName = "aegis";
const workspace = "workspace-write";

/**
 * An allowed command may leave Codex's sandbox, so with a sandbox each command would be an ask. Without a sandbox,
 * Aegis allows every call here to which no plugin or rule objects.
 */
function asksAlways({ host, agent }: ConversationSpec): boolean {
  return host.gated || (mustAsk(host) && agent.permission === "full");
}

const rights: Record<Permission, { sandbox: string; approvalPolicy: string }> = {
  read: { sandbox: "read-only", approvalPolicy: "on-request" },
  write: { sandbox: "workspace-write", approvalPolicy: "on-request" },
  full: { sandbox: "danger-full-access", approvalPolicy: "never" },
  auto: { sandbox: "workspace-write", approvalPolicy: "on-request" },
};

/** Codex's own sandbox cannot start in another one: what it would have asked to leave that sandbox for, it asks at once. */
function confinedRights({ agent }: ConversationSpec): { sandbox: string; approvalPolicy: string } {
  return { ...rights.full, ...(agent.permission === "full" ? {} : { approvalPolicy: "untrusted" }) };
}

/** A plane call may wait for a person. Progress does not extend Codex's own limit of five minutes. */
const planeTimeoutSeconds = 24 * 60 * 60;

function planeConfig({ plane }: ConversationSpec): JsonFields {
  if (plane === null) return {};
  return {
    [planeServer]: {
      url: plane.url,
      http_headers: { Authorization: `Bearer ${plane.token}` },
      default_tools_approval_mode: "approve",
      tool_timeout_sec: planeTimeoutSeconds,
    },
  };
}

function threadError(error: unknown): DriverError {
  const code = error instanceof RpcError && error.code === null ? "died" : "start";
  const fix = isHeldElsewhere(error) ? { fix: "Another Codex process has it open: stop that one first." } : {};
  return new DriverError(
    { code, message: `Codex did not open the conversation: ${errorText(error)}.`, ...fix },
    { cause: error },
  );
}

/** The servers of a thread are added to the user's own, so those that its agent does not keep are disabled. */
async function otherServers(rpc: Rpc, spec: ConversationSpec, env: Environment): Promise<JsonFields> {
  const chosen = await chosenServers(spec, env);
  const answer = await rpc.call("config/read", { cwd: spec.cwd }).catch(() => ({}) as JsonFields);
  const names = Object.keys(objectAt(objectAt(answer, "config"), "mcp_servers"));
  const off = names.filter((name) => name !== planeServer && !keepsOwn(name, chosen));
  const missing = chosen.own === "all" ? [] : chosen.own.filter((name) => !names.includes(name));
  const warn = (text: string) => spec.host.notice({ level: "warning", text });
  if (missing.length > 0)
    warn(
      `No MCP server ${missing.join(", ")}: neither ${projectServersFile} nor Codex's settings have one of that name.`,
    );
  const given: JsonFields = {};
  for (const [name, server] of chosen.project) {
    if (server.type === "sse") warn(`The MCP server "${name}" is left out: Codex cannot use servers of the type sse.`);
    else if (server.type === "stdio") given[name] = { command: server.command, args: server.args, env: server.env };
    else given[name] = { url: server.url, http_headers: server.headers };
  }
  return { ...Object.fromEntries(off.map((name) => [name, { enabled: false }])), ...given };
}
