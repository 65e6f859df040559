/** Answers what Codex asks: may a command or a change be made, a tool be called, what does the user choose. */
import { isObject, type Json, listAt, objectAt, oneLine, textAt } from "../cli-harness/fields.ts";
import type { ConversationHost, PermissionAnswer } from "../driver.ts";
import { unwrapShell } from "./items.ts";

/** Null when Codex asks something that Aegis does not know. */
export async function answerRequest(
  method: string,
  params: Json,
  host: ConversationHost,
  signal: AbortSignal,
): Promise<Json | null> {
  switch (method) {
    case "item/commandExecution/requestApproval":
      return mayRun(params, host, signal);
    case "item/fileChange/requestApproval":
      return mayChange(params, host, signal);
    case "item/permissions/requestApproval":
      return mayHaveMore(params, host, signal);
    case "mcpServer/elicitation/request":
      return isToolApproval(params) ? mayCall(params, host, signal) : fillForm(params, host, signal);
    case "item/tool/requestUserInput":
      return choose(params, host, signal);
    default:
      return null;
  }
}

async function mayRun(params: Json, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const command = unwrapShell(textAt(params, "command") ?? "");
  const input = { command, cwd: params.cwd, reason: params.reason };
  const title = oneLine(command === "" ? (textAt(params, "reason") ?? "run a command") : command);
  const call = textAt(params, "itemId");
  const answer = await host.permission({ call, tool: "shell", kind: "execute", title, input }, signal);
  return { decision: decide(answer, input, listAt(params, "availableDecisions")) };
}

async function mayChange(params: Json, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const input = { reason: params.reason, grantRoot: params.grantRoot };
  const title = oneLine(textAt(params, "reason") ?? "change files");
  const call = textAt(params, "itemId");
  const answer = await host.permission({ call, tool: "apply_patch", kind: "edit", title, input }, signal);
  return { decision: decide(answer, input, []) };
}

async function mayHaveMore(params: Json, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const input = { permissions: params.permissions, reason: params.reason };
  const title = oneLine(textAt(params, "reason") ?? "more permissions");
  const call = textAt(params, "itemId");
  const answer = await host.permission({ call, tool: "permissions", kind: "other", title, input }, signal);
  if (answer.decision === "deny") return { permissions: {}, scope: "turn" };
  return { permissions: params.permissions, scope: answer.scope === "session" ? "session" : "turn" };
}

/**
 * Codex cannot run a changed input, so an answer that changes it is a refusal. For good, Codex would write a rule to
 * the user's files: `session` is only taken up where it stays in memory.
 */
function decide(answer: PermissionAnswer, input: unknown, offered: readonly unknown[]): string {
  if (answer.decision === "deny") return "decline";
  if (answer.input !== undefined && JSON.stringify(answer.input) !== JSON.stringify(input)) return "decline";
  const canLast = offered.length === 0 || offered.includes("acceptForSession");
  return answer.scope === "session" && canLast ? "acceptForSession" : "accept";
}

/** Codex asks about a call of an MCP tool in the form that a server uses to ask for input. */
function isToolApproval(params: Json): boolean {
  return textAt(objectAt(params, "_meta"), "codex_approval_kind") === "mcp_tool_call";
}

async function mayCall(params: Json, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const server = textAt(params, "serverName") ?? "MCP server";
  const meta = objectAt(params, "_meta");
  const title = oneLine(textAt(params, "message") ?? `call a tool of ${server}`);
  const answer = await host.permission(
    { call: null, tool: `mcp__${server}`, kind: "other", title, input: meta },
    signal,
  );
  return { action: answer.decision === "allow" ? "accept" : "decline", content: {}, _meta: null };
}

async function fillForm(params: Json, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const server = textAt(params, "serverName") ?? "MCP server";
  const schema = objectAt(params, "requestedSchema");
  const answer = await host.permission(
    {
      call: null,
      tool: `${server}:elicitation`,
      kind: "other",
      title: oneLine(textAt(params, "message") ?? `${server} asks for input`),
      input: { message: params.message, schema, url: params.url },
    },
    signal,
  );
  const isComplete = answer.decision === "allow" && (isObject(answer.input) || listAt(schema, "required").length === 0);
  if (!isComplete) return { action: "decline", content: null, _meta: null };
  return { action: "accept", content: isObject(answer.input) ? answer.input : {}, _meta: null };
}

/** Answers are given by the question's id or by its text. A question without one stays open to the model. */
async function choose(params: Json, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const questions = listAt(params, "questions");
  const title = oneLine(questions.map((question) => textAt(question, "question") ?? "").join(" "));
  const request = { call: textAt(params, "itemId"), tool: "request_user_input", kind: "other" as const, title };
  const answer = await host.permission({ ...request, input: { questions } }, signal);
  const given = answer.decision === "allow" ? objectAt(answer.input, "answers") : {};
  const answers: Json = {};
  for (const question of questions) {
    const id = textAt(question, "id") ?? "";
    const chosen = given[id] ?? given[textAt(question, "question") ?? ""];
    if (chosen !== undefined) answers[id] = { answers: [chosen].flat().map(String) };
  }
  return { answers };
}
