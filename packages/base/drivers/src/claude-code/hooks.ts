/**
 * Runs plugin hooks for tool calls, through the callbacks that Claude Code makes before and after each of its tools.
 */
import { planeServer } from "@aegis/contract/tool-names.ts";
import { isObject, type JsonFields, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import type { ConversationHost, ToolUse } from "../driver.ts";
import { askedFor } from "../tool-approval.ts";
import { fileChanges, filesOf, toolKind, wholeTitle } from "./tools.ts";

/** A callback may wait for a person. A callback that times out is not a gate: the tool would run. */
const timeoutSeconds = 24 * 60 * 60;
/** Ensures that an ask in a callback is answered, or has expired as a denial, before the callback times out. */
const answerWithinMs = (timeoutSeconds - 600) * 1000;

/** For `initialize`. The plane judges calls of its own tools itself. */
export function hookRegistration(): JsonFields {
  const matcher = `^(?!mcp__${planeServer}__)`;
  const events = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
  return Object.fromEntries(
    events.map((event) => [event, [{ matcher, hookCallbackIds: [event], timeout: timeoutSeconds }]]),
  );
}

/** Null for a callback of another kind. */
export async function answerHook(
  request: JsonFields,
  host: ConversationHost,
  signal: AbortSignal,
): Promise<JsonFields | null> {
  const input = objectAt(request, "input");
  const tool = textAt(input, "tool_name") ?? "";
  const call = textAt(input, "tool_use_id") ?? textAt(request, "tool_use_id");
  const use: ToolUse = { call, tool, kind: toolKind(tool), input: input.tool_input, files: filesOf(tool) };
  switch (textAt(input, "hook_event_name")) {
    case "PreToolUse":
      return before(use, host, signal);
    case "PostToolUse":
      return after(use, input.tool_response, host, signal);
    case "PostToolUseFailure":
      return afterFailure(use, textAt(input, "error") ?? "", host, signal);
    default:
      return null;
  }
}

async function before(use: ToolUse, host: ConversationHost, signal: AbortSignal): Promise<JsonFields> {
  const verdict = await host.beforeTool(use, signal);
  if (verdict.decision === "deny") return decision("deny", verdict.reason);
  if (verdict.decision === "allow") {
    // Without our decision the CLI applies its own rules, to the changed input if there is one.
    return verdict.input === undefined ? {} : specific("PreToolUse", { updatedInput: verdict.input });
  }
  // Asked here and not by the CLI, which does not ask in some of its modes.
  const { tool, input } = use;
  const shown = { title: wholeTitle(tool, input), changes: fileChanges(tool, input), withinMs: answerWithinMs };
  const request = askedFor({ ...use, ...shown }, verdict);
  const answer = await host.permission(request, signal);
  if (answer.decision === "deny") return decision("deny", answer.reason);
  const updatedInput = answer.input ?? verdict.input;
  return specific("PreToolUse", {
    permissionDecision: "allow",
    ...(updatedInput === undefined ? {} : { updatedInput }),
  });
}

async function after(
  use: ToolUse,
  response: unknown,
  host: ConversationHost,
  signal: AbortSignal,
): Promise<JsonFields> {
  const text = await host.afterTool(use, { output: responseText(response), is_error: false }, signal);
  if (text === null) return {};
  const updatedToolOutput = withText(response, text);
  // The CLI drops a result that does not have its tool's shape. If we do not know the shape, the model gets both texts.
  return specific("PostToolUse", updatedToolOutput === null ? { additionalContext: text } : { updatedToolOutput });
}

/** The error of a failed tool cannot be replaced, only extended. */
async function afterFailure(
  use: ToolUse,
  output: string,
  host: ConversationHost,
  signal: AbortSignal,
): Promise<JsonFields> {
  const text = await host.afterTool(use, { output, is_error: true }, signal);
  return text === null ? {} : specific("PostToolUseFailure", { additionalContext: text });
}

function decision(permissionDecision: string, permissionDecisionReason: string): JsonFields {
  return specific("PreToolUse", { permissionDecision, permissionDecisionReason });
}

function specific(hookEventName: string, output: JsonFields): JsonFields {
  return { hookSpecificOutput: { hookEventName, ...output } };
}

/** The readable text of a tool result. Each tool's result has its own shape. */
function responseText(response: unknown): string {
  if (typeof response === "string") return response;
  if (isCommandResult(response)) return [response.stdout, response.stderr].filter((part) => part !== "").join("\n");
  const parts = Array.isArray(response) ? response : listAt(response, "content");
  const texts = parts.flatMap((part) => textAt(part, "text") ?? []);
  return texts.length > 0 ? texts.join("\n") : (fileContent(response) ?? JSON.stringify(response) ?? "");
}

/** The same result with its text replaced, or null if its shape is unknown. */
function withText(response: unknown, text: string): unknown {
  if (typeof response === "string") return text;
  if (isCommandResult(response)) return { ...response, stdout: text, stderr: "" };
  if (Array.isArray(response)) return [{ type: "text", text }];
  if (isObject(response) && Array.isArray(response.content)) return { ...response, content: [{ type: "text", text }] };
  if (fileContent(response) === null) return null;
  return { ...objectAt({ response }, "response"), file: { ...objectAt(response, "file"), content: text } };
}

function isCommandResult(response: unknown): response is JsonFields & { stdout: string; stderr: string } {
  return textAt(response, "stdout") !== null && textAt(response, "stderr") !== null;
}

function fileContent(response: unknown): string | null {
  return textAt(objectAt(response, "file"), "content");
}
