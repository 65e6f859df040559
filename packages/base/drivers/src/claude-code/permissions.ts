/** Answers the requests of Claude Code: tool permissions, choices, and forms. */
import type { Permission } from "@aegis/contract/agent.ts";
import { isObject, type JsonFields, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import type { ConversationHost, PermissionAnswer } from "../driver.ts";
import { answerHook } from "./hooks.ts";
import { fileChanges, filesOf, toolKind, wholeTitle } from "./tools.ts";

/** Null if Aegis does not know the kind of request. */
export async function answerRequest(
  request: JsonFields,
  permission: Permission,
  host: ConversationHost,
  signal: AbortSignal,
): Promise<JsonFields | null> {
  if (request.subtype === "can_use_tool") return mayUseTool(request, permission, host, signal);
  if (request.subtype === "hook_callback") return answerHook(request, host, signal);
  if (request.subtype === "elicitation") return fillForm(request, host, signal);
  return null;
}

async function mayUseTool(
  request: JsonFields,
  permission: Permission,
  host: ConversationHost,
  signal: AbortSignal,
): Promise<JsonFields> {
  const tool = textAt(request, "tool_name") ?? "";
  const { input } = request;
  // Leaving plan mode would grant rights that the profile withholds.
  if (tool === "ExitPlanMode" && permission === "read") {
    return deny("This agent may only read. Give the plan as your answer; another agent will carry it out.");
  }
  const answer = await host.permission(
    {
      call: textAt(request, "tool_use_id"),
      tool,
      kind: toolKind(tool),
      title: wholeTitle(tool, input),
      input,
      reason: reasonOf(request),
      changes: fileChanges(tool, input),
      files: filesOf(tool),
    },
    signal,
  );
  if (answer.decision === "deny") return deny(answer.reason);
  const updatedInput = answer.input ?? input;
  if (tool === "AskUserQuestion" && !isObject(objectAt({ updatedInput }, "updatedInput").answers)) {
    return deny("No answer was chosen. Decide yourself and state what you assumed.");
  }
  return { behavior: "allow", updatedInput, ...lasting(request, answer) };
}

function reasonOf(request: JsonFields): string | null {
  const blocked = textAt(request, "blocked_path");
  return textAt(request, "decision_reason") ?? (blocked === null ? null : `it would reach ${blocked}`);
}

function deny(message: string): JsonFields {
  return { behavior: "deny", message };
}

/**
 * Accepts the CLI's offer not to ask again, but for this session only, not in the file to which the CLI would write the rule.
 */
function lasting(request: JsonFields, answer: PermissionAnswer): JsonFields {
  if (answer.decision === "deny" || answer.scope === "once") return {};
  const offers = listAt(request, "permission_suggestions").filter(isObject);
  const chosen =
    offers.find((offer) => offer.type === "addRules") ?? offers.find((offer) => offer.mode === "acceptEdits");
  return chosen === undefined ? {} : { updatedPermissions: [{ ...chosen, destination: "session" }] };
}

async function fillForm(request: JsonFields, host: ConversationHost, signal: AbortSignal): Promise<JsonFields> {
  const server = textAt(request, "mcp_server_name") ?? "MCP server";
  const schema = objectAt(request, "requested_schema");
  const answer = await host.permission(
    {
      call: null,
      tool: `${server}:elicitation`,
      kind: "other",
      title: textAt(request, "message") ?? `${server} asks for input`,
      input: { message: request.message, schema },
    },
    signal,
  );
  if (answer.decision === "deny") return { action: "decline" };
  if (isObject(answer.input)) return { action: "accept", content: answer.input };
  return listAt(schema, "required").length === 0 ? { action: "accept", content: {} } : { action: "decline" };
}
