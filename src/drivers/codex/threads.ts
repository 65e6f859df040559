/** Starts or resumes the thread of a conversation, with its rights, its model and its plane. */
import { join } from "node:path";
import type { Permission } from "../../contract/agent.ts";
import { makePrivateDir } from "../../lib/files.ts";
import { errorText } from "../../lib/log.ts";
import { type Json, objectAt, textAt } from "../cli-harness/fields.ts";
import { type ConversationSpec, DriverError } from "../driver.ts";
import { type Rpc, RpcError } from "./rpc.ts";
import { scopedFeatures } from "./scope.ts";

/** What the plane is called in the harness. */
export const planeServer = "aegis";

export type Thread = {
  id: string;
  /** Repeated with every turn: a thread whose model changes is replaced by a summary of itself. */
  model: string;
};

/** Throws `DriverError`. `unload` makes another server let go of a thread; false when none has it. */
export async function openThread(
  rpc: Rpc,
  spec: ConversationSpec,
  unload: (threadId: string) => Promise<boolean>,
): Promise<Thread> {
  const before = spec.resume === null ? null : parseName(spec.resume);
  const other = spec.fork === null ? null : parseName(spec.fork);
  const params = await threadParams(rpc, spec, spec.agent.model ?? before?.model ?? other?.model ?? null);
  if (before !== null) {
    try {
      const resume = () => rpc.call("thread/resume", { ...params, threadId: before.id, excludeTurns: true });
      const resumed = await resume().catch(async (error: unknown) => {
        if (!(await isFreed(rpc, error, before.id, unload))) throw error;
        return resume();
      });
      return remember(spec, resumed, before.model);
    } catch (error) {
      if (!isUnknownThread(error)) throw threadError(error);
      await spec.host.remember(null);
      noteLoss(spec, before.id, other === null ? "without its earlier history" : "from where it was forked");
    }
  }
  if (other !== null) {
    try {
      const forked = await rpc.call("thread/fork", { ...params, threadId: other.id, excludeTurns: true });
      return await remember(spec, forked, other.model);
    } catch (error) {
      if (!isUnknownThread(error)) throw threadError(error);
      noteLoss(spec, other.id, "without its earlier history");
    }
  }
  const started = await rpc.call("thread/start", params).catch((error: unknown) => {
    throw threadError(error);
  });
  return remember(spec, started, null);
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
  const text = `Codex has no record of this conversation (${thread}) any more: it goes on ${then}.`;
  spec.host.notice({ level: "warning", text });
}

/** What `remember` was given. */
export function parseName(name: string): Thread {
  const [id = "", model = ""] = name.split(" ");
  return { id, model };
}

/** The name that is remembered holds the model too: a profile may leave its choice to Codex, which must not change it. */
async function remember(spec: ConversationSpec, answer: Json, modelBefore: string | null): Promise<Thread> {
  const id = textAt(objectAt(answer, "thread"), "id");
  if (id === null) throw threadError(new Error("it named no thread"));
  const model = textAt(answer, "model") ?? spec.agent.model ?? modelBefore ?? "";
  const name = `${id} ${model}`.trim();
  if (name !== spec.resume) await spec.host.remember(name);
  return { id, model };
}

async function threadParams(rpc: Rpc, spec: ConversationSpec, model: string | null): Promise<Json> {
  const temporary = join(spec.stateDir, "tmp");
  // Codex's sandbox breaks when the folder is missing.
  await makePrivateDir(temporary);
  return {
    cwd: spec.cwd,
    ...(model === null || model === "" ? {} : { model }),
    ...rights[spec.agent.permission],
    // A call can be stopped only where Codex asks about it; what is let pass is answered here.
    ...(spec.host.gated ? { approvalPolicy: "untrusted" } : {}),
    // Otherwise another model may answer in the user's place.
    approvalsReviewer: "user",
    ...(spec.systemPrompt === "" ? {} : { developerInstructions: spec.systemPrompt }),
    config: {
      ...scopedFeatures(spec.agent),
      mcp_servers: { ...(await otherServers(rpc, spec.cwd)), ...planeConfig(spec) },
      // With the default excludes, names like *KEY* and *TOKEN* do not reach the agent's shell.
      shell_environment_policy: { ignore_default_excludes: false, set: { TMPDIR: temporary } },
    },
  };
}

const rights: Record<Permission, { sandbox: string; approvalPolicy: string }> = {
  read: { sandbox: "read-only", approvalPolicy: "on-request" },
  write: { sandbox: "workspace-write", approvalPolicy: "on-request" },
  full: { sandbox: "danger-full-access", approvalPolicy: "never" },
  auto: { sandbox: "workspace-write", approvalPolicy: "on-request" },
};

/** A call of the plane may wait for a person. Progress does not lengthen Codex's own limit of five minutes. */
const planeTimeoutSeconds = 24 * 60 * 60;

function planeConfig({ plane }: ConversationSpec): Json {
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

/** What a thread is given is added to the user's own servers, so those are switched off by name. */
async function otherServers(rpc: Rpc, cwd: string): Promise<Json> {
  const answer = await rpc.call("config/read", { cwd }).catch(() => ({}) as Json);
  const names = Object.keys(objectAt(objectAt(answer, "config"), "mcp_servers"));
  return Object.fromEntries(names.filter((name) => name !== planeServer).map((name) => [name, { enabled: false }]));
}

function threadError(error: unknown): DriverError {
  const code = error instanceof RpcError && error.code === null ? "died" : "start";
  const fix = isHeldElsewhere(error) ? { fix: "Another Codex has it open: end that one first." } : {};
  return new DriverError(
    { code, message: `Codex did not open the conversation: ${errorText(error)}.`, ...fix },
    { cause: error },
  );
}
