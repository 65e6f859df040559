/** What plugins say of a tool call, through the callbacks that Claude Code makes before and after each of its tools. */
import { planeServer } from "../../contract/tool-names.ts";
import { isObject, type Json, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import type { ConversationHost, ToolUse } from "../driver.ts";
import { askedFor } from "../gate.ts";
import { toolKind, toolTitle } from "./tools.ts";

/** A callback may wait for a person. One that runs out of time is no gate: the tool would run. */
const timeoutSeconds = 24 * 60 * 60;

/** For `initialize`. The plane judges calls of its own tools itself. */
export function hookRegistration(): Json {
  const matcher = `^(?!mcp__${planeServer}__)`;
  const events = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
  return Object.fromEntries(
    events.map((event) => [event, [{ matcher, hookCallbackIds: [event], timeout: timeoutSeconds }]]),
  );
}

/** Null for a callback of another kind. */
export async function answerHook(request: Json, host: ConversationHost, signal: AbortSignal): Promise<Json | null> {
  const input = objectAt(request, "input");
  const tool = textAt(input, "tool_name") ?? "";
  const call = textAt(input, "tool_use_id") ?? textAt(request, "tool_use_id");
  const use: ToolUse = { call, tool, kind: toolKind(tool), input: input.tool_input };
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

async function before(use: ToolUse, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const verdict = await host.beforeTool(use, signal);
  if (verdict.decision === "deny") return decision("deny", verdict.reason);
  if (verdict.decision === "allow") {
    // Without a decision of ours the CLI's own rules go on, with the changed input if there is one.
    return verdict.input === undefined ? {} : specific("PreToolUse", { updatedInput: verdict.input });
  }
  // Asked here and not by the CLI, which asks nobody in some of its modes.
  const request = askedFor({ ...use, title: toolTitle(use.tool, use.input) }, verdict);
  const answer = await host.permission(request, signal);
  if (answer.decision === "deny") return decision("deny", answer.reason);
  const updatedInput = answer.input ?? verdict.input;
  return specific("PreToolUse", {
    permissionDecision: "allow",
    ...(updatedInput === undefined ? {} : { updatedInput }),
  });
}

async function after(use: ToolUse, response: unknown, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const text = await host.afterTool(use, { output: responseText(response), is_error: false }, signal);
  if (text === null) return {};
  const updatedToolOutput = withText(response, text);
  // The CLI drops a result that is not of its tool's shape; where we do not know that, the model gets both.
  return specific("PostToolUse", updatedToolOutput === null ? { additionalContext: text } : { updatedToolOutput });
}

/** The error of a tool that failed cannot be replaced, only added to. */
async function afterFailure(use: ToolUse, output: string, host: ConversationHost, signal: AbortSignal): Promise<Json> {
  const text = await host.afterTool(use, { output, is_error: true }, signal);
  return text === null ? {} : specific("PostToolUseFailure", { additionalContext: text });
}

function decision(permissionDecision: string, permissionDecisionReason: string): Json {
  return specific("PreToolUse", { permissionDecision, permissionDecisionReason });
}

function specific(hookEventName: string, output: Json): Json {
  return { hookSpecificOutput: { hookEventName, ...output } };
}

/** Each tool has a result of its own shape; what a person would read of it. */
function responseText(response: unknown): string {
  if (typeof response === "string") return response;
  if (isCommandResult(response)) return [response.stdout, response.stderr].filter((part) => part !== "").join("\n");
  const parts = Array.isArray(response) ? response : listAt(response, "content");
  const texts = parts.flatMap((part) => textAt(part, "text") ?? []);
  return texts.length > 0 ? texts.join("\n") : (fileContent(response) ?? JSON.stringify(response) ?? "");
}

/** The same result with other text in it, or null when its shape is not known. */
function withText(response: unknown, text: string): unknown {
  if (typeof response === "string") return text;
  if (isCommandResult(response)) return { ...response, stdout: text, stderr: "" };
  if (Array.isArray(response)) return [{ type: "text", text }];
  if (isObject(response) && Array.isArray(response.content)) return { ...response, content: [{ type: "text", text }] };
  if (fileContent(response) === null) return null;
  return { ...objectAt({ response }, "response"), file: { ...objectAt(response, "file"), content: text } };
}

function isCommandResult(response: unknown): response is Json & { stdout: string; stderr: string } {
  return textAt(response, "stdout") !== null && textAt(response, "stderr") !== null;
}

function fileContent(response: unknown): string | null {
  return textAt(objectAt(response, "file"), "content");
}
