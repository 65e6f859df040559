/** Answers the requests of Codex: permissions for commands, changes and tool calls, and choices. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Permission } from "@aegis/contract/agent.ts";
import { isInside } from "@aegis/lib/files.ts";
import { isObject, type JsonFields, listAt, objectAt, textAt, wholeLine } from "../cli-harness/fields.ts";
import type { ConversationHost, PermissionAnswer, PermissionRequest } from "../driver.ts";
import { judge } from "../tool-approval.ts";
import { changedFiles, fileChange } from "./diff.ts";
import { plainReading } from "./plain-reading.ts";
import { commandRefusal } from "./terminals.ts";
import { unwrapShell } from "./unwrap-shell.ts";

export type ApprovalQuestion = {
  method: string;
  params: JsonFields;
  /** The file changes of the patch in question. */
  changes: readonly unknown[];
  host: ConversationHost;
  permission: Permission;
  cwd: string;
  /** The agent could type into the command while it runs, so what is judged here is not all that would run. */
  terminals: boolean;
  /** Called with the reason of a denial: no answer of the protocol contains it. */
  onDenial(reason: string): void;
  signal: AbortSignal;
};

/** Null if Aegis does not know the kind of request. */
export async function answerRequest(asked: ApprovalQuestion): Promise<JsonFields | null> {
  const { method, params, host, signal } = asked;
  switch (method) {
    case "item/commandExecution/requestApproval":
      return mayRun(asked);
    case "item/fileChange/requestApproval":
      return mayChange(asked);
    case "item/permissions/requestApproval":
      return mayHaveMore(params, host, signal);
    case "mcpServer/elicitation/request":
      return isToolApproval(params) ? mayCall(asked) : fillForm(params, host, signal);
    case "item/tool/requestUserInput":
      return choose(params, host, signal);
    default:
      return null;
  }
}

async function mayRun(asked: ApprovalQuestion): Promise<JsonFields> {
  const { params, host, cwd } = asked;
  if (params.kind === "writeStdin") return refused(asked, "nothing may be typed into a running command");
  const command = unwrapShell(textAt(params, "command") ?? "");
  const input = { command, cwd: params.cwd, reason: params.reason };
  const title = wholeLine(command === "" ? (textAt(params, "reason") ?? "run a command") : command);
  const request: PermissionRequest = {
    call: textAt(params, "itemId"),
    tool: "shell",
    kind: "execute",
    title,
    input,
    reason: textAt(params, "reason"),
    cwd: textAt(params, "cwd") ?? cwd,
  };
  const reading = plainReading(command, textAt(params, "cwd") ?? cwd, cwd);
  if (asked.terminals && reading === null) return refused(asked, commandRefusal);
  // A gated agent also asks about calls that it would otherwise just run. Reading the project needs no consent.
  // With `write`, Codex runs commands inside its own sandbox without a question, and so it does inside of Aegis's.
  const isHeld = host.confined && asked.permission === "write";
  const settled = isHeld || (host.gated && reading !== null) ? allowed : null;
  return { decision: decide(await judged(asked, request, settled), listAt(params, "availableDecisions")) };
}

function refused({ onDenial }: ApprovalQuestion, reason: string): JsonFields {
  onDenial(reason);
  return { decision: "decline" };
}

async function mayChange(asked: ApprovalQuestion): Promise<JsonFields> {
  const { params, changes, permission, cwd } = asked;
  const input = { reason: params.reason, grantRoot: params.grantRoot, changes };
  const title = wholeLine(textAt(params, "reason") ?? "change files");
  const request: PermissionRequest = {
    call: textAt(params, "itemId"),
    tool: "apply_patch",
    kind: "edit",
    title,
    input,
    reason: textAt(params, "reason"),
    changes: changes.flatMap(fileChange),
    cwd,
    files: () => ({ changes: changes.flatMap(changedFiles) }),
  };
  const paths = changes.map((change) => textAt(change, "path") ?? "/");
  const isInProject = paths.length > 0 && paths.every((path) => isInside(cwd, resolve(cwd, path)));
  const settled = permission === "write" && isInProject && params.grantRoot == null ? allowed : null;
  return { decision: decide(await judged(asked, request, settled), []) };
}

async function mayHaveMore(params: JsonFields, host: ConversationHost, signal: AbortSignal): Promise<JsonFields> {
  const input = { permissions: params.permissions, reason: params.reason };
  const title = wholeLine(textAt(params, "reason") ?? "more permissions");
  const call = textAt(params, "itemId");
  const reason = textAt(params, "reason");
  const answer = await host.permission({ call, tool: "permissions", kind: "other", title, input, reason }, signal);
  if (answer.decision === "deny") return { permissions: {}, scope: "turn" };
  return { permissions: params.permissions, scope: answer.scope === "session" ? "session" : "turn" };
}

const allowed: PermissionAnswer = { decision: "allow", scope: "once" };

/** Codex cannot run a changed input, so an answer that changes it is a refusal. */
async function judged(
  { host, permission, onDenial, signal }: ApprovalQuestion,
  request: PermissionRequest,
  settled: PermissionAnswer | null = null,
): Promise<PermissionAnswer> {
  const answer = await judge(host, request, permission === "full" ? allowed : settled, signal);
  const isChanged =
    answer.decision === "allow" && answer.input !== undefined && !isDeepStrictEqual(answer.input, request.input);
  const given = isChanged ? cannotRewrite : answer;
  if (given.decision === "deny") onDenial(given.reason);
  return given;
}

const cannotRewrite: PermissionAnswer = {
  decision: "deny",
  reason: "it was allowed only with changed arguments, which Codex does not support",
};

/** A permanent rule would be written to the user's files, so `session` is used only where Codex keeps it in memory. */
function decide(answer: PermissionAnswer, offered: readonly unknown[]): string {
  if (answer.decision === "deny") return "decline";
  const canLast = offered.length === 0 || offered.includes("acceptForSession");
  return answer.scope === "session" && canLast ? "acceptForSession" : "accept";
}

/** Codex asks about a call of an MCP tool with the form that a server uses to request input. */
function isToolApproval(params: JsonFields): boolean {
  return textAt(objectAt(params, "_meta"), "codex_approval_kind") === "mcp_tool_call";
}

async function mayCall(asked: ApprovalQuestion): Promise<JsonFields> {
  const { params } = asked;
  const server = textAt(params, "serverName") ?? "MCP server";
  const title = wholeLine(textAt(params, "message") ?? `call a tool of ${server}`);
  const input = objectAt(params, "_meta");
  const request = { call: null, tool: `mcp__${server}`, kind: "other" as const, title, input };
  const answer = await judged(asked, request);
  return { action: answer.decision === "allow" ? "accept" : "decline", content: {}, _meta: null };
}

async function fillForm(params: JsonFields, host: ConversationHost, signal: AbortSignal): Promise<JsonFields> {
  const server = textAt(params, "serverName") ?? "MCP server";
  const schema = objectAt(params, "requestedSchema");
  const answer = await host.permission(
    {
      call: null,
      tool: `${server}:elicitation`,
      kind: "other",
      title: wholeLine(textAt(params, "message") ?? `${server} asks for input`),
      input: { message: params.message, schema, url: params.url },
    },
    signal,
  );
  const isComplete = answer.decision === "allow" && (isObject(answer.input) || listAt(schema, "required").length === 0);
  if (!isComplete) return { action: "decline", content: null, _meta: null };
  return { action: "accept", content: isObject(answer.input) ? answer.input : {}, _meta: null };
}

/** Answers are keyed by the question's id or by its text. A question without an answer is left to the model. */
async function choose(params: JsonFields, host: ConversationHost, signal: AbortSignal): Promise<JsonFields> {
  const questions = listAt(params, "questions");
  const title = wholeLine(questions.map((question) => textAt(question, "question") ?? "").join(" "));
  const request = { call: textAt(params, "itemId"), tool: "request_user_input", kind: "other" as const, title };
  const answer = await host.permission({ ...request, input: { questions } }, signal);
  const given = answer.decision === "allow" ? objectAt(answer.input, "answers") : {};
  const answers: JsonFields = {};
  for (const question of questions) {
    const id = textAt(question, "id") ?? "";
    const chosen = given[id] ?? given[textAt(question, "question") ?? ""];
    if (chosen !== undefined) answers[id] = { answers: [chosen].flat().map(String) };
  }
  return { answers };
}
