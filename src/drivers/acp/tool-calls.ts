/** One tool call put together from its announcement, its updates and its permission request, in our words. */
import type { ToolKind, TurnItems } from "../../contract/turn.ts";
import type { ContentBlock, ToolCallPatch, ToolContent } from "./updates.ts";

/** What the plane is called in every agent: short and lower case, because agents build tool names from it. */
export const planeServer = "aegis";

/** How an agent names its tools. */
export type ToolNaming = {
  /**
   * The plane's name of the tool when the call is certainly one of the plane's, else null. Must rest on what the
   * model cannot write: its answer opens the call without asking anyone.
   */
  planeTool(call: ToolCallState): string | null;
  /** Tool call ids are `<tool name>__<id>`. */
  nameInCallId: boolean;
};

export type ToolCallState = {
  id: string;
  /** As first seen: later titles often carry text of the model's. */
  firstTitle: string;
  title: string;
  name: string | null;
  kind: string;
  status: string;
  content: readonly ToolContent[];
  locations: readonly { path: string; line?: number | null | undefined }[];
  input: unknown;
  output: unknown;
  meta: Record<string, unknown>;
};

const kinds: Record<string, ToolKind> = {
  read: "read",
  edit: "edit",
  delete: "edit",
  move: "edit",
  search: "search",
  execute: "execute",
  think: "think",
  fetch: "fetch",
};

/** The call after one more message about it. What the message leaves out stays. */
export function applyPatch(before: ToolCallState | undefined, patch: ToolCallPatch): ToolCallState {
  const title = patch.title ?? before?.title ?? "";
  return {
    id: patch.toolCallId,
    firstTitle: before?.firstTitle || title,
    title,
    name: patch.name ?? before?.name ?? null,
    kind: patch.kind ?? before?.kind ?? "other",
    status: patch.status ?? before?.status ?? "pending",
    content: patch.content ?? before?.content ?? [],
    locations: patch.locations ?? before?.locations ?? [],
    input: isEmpty(patch.rawInput) ? before?.input : patch.rawInput,
    output: patch.rawOutput ?? before?.output,
    meta: { ...before?.meta, ...patch._meta },
  };
}

export function isFinal(call: ToolCallState): boolean {
  return call.status === "completed" || call.status === "failed";
}

export function hasInput(call: ToolCallState): boolean {
  return !isEmpty(inputOf(call));
}

export function kindOf(call: ToolCallState): ToolKind {
  return kinds[call.kind] ?? "other";
}

/** The tool's name; one of the plane's is `mcp__aegis__<tool>` whatever the agent calls it. */
export function nameOf(call: ToolCallState, naming: ToolNaming): string {
  const plane = naming.planeTool(call);
  if (plane !== null) return `mcp__${planeServer}__${plane}`;
  const named = call.name ?? metaText(call, "toolName");
  if (named !== null) return named;
  const separator = naming.nameInCallId ? call.id.lastIndexOf("__") : -1;
  if (separator > 0) return call.id.slice(0, separator);
  return call.firstTitle === "" ? kindOf(call) : call.firstTitle;
}

/** The arguments; agents without `rawInput` put them as JSON text where people read them. */
export function inputOf(call: ToolCallState): unknown {
  if (!isEmpty(call.input) || isFinal(call)) return call.input ?? {};
  const text = textOf(call.content).trim();
  if (!text.startsWith("{")) return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}

export function callItem(call: ToolCallState, naming: ToolNaming): TurnItems["tool_call"] {
  const name = nameOf(call, naming);
  return {
    call: call.id,
    name,
    kind: kindOf(call),
    title: call.title === "" ? name : call.title,
    input: inputOf(call),
    locations: call.locations.map(({ path, line }) =>
      typeof line === "number" && Number.isInteger(line) ? { path, line } : { path },
    ),
    diff: diffOf(call.content),
    parent: null,
  };
}

export function resultItem(call: ToolCallState): TurnItems["tool_result"] {
  const text = textOf(call.content);
  return {
    call: call.id,
    output: text === "" ? outputText(call.output) : text,
    is_error: call.status === "failed",
    diff: diffOf(call.content),
  };
}

export function metaText(call: ToolCallState, key: string): string | null {
  const value = call.meta[key];
  return typeof value === "string" ? value : null;
}

export function blockText(block: ContentBlock): string {
  return block.type === "text" ? (block.text ?? "") : "";
}

function textOf(content: readonly ToolContent[]): string {
  return content
    .map((part) => ("content" in part && part.type === "content" ? blockText(part.content as ContentBlock) : ""))
    .filter((text) => text !== "")
    .join("\n");
}

function diffOf(content: readonly ToolContent[]): TurnItems["tool_call"]["diff"] {
  for (const part of content)
    if (part.type === "diff" && "newText" in part && typeof part.newText === "string" && typeof part.path === "string")
      return { path: part.path, before: typeof part.oldText === "string" ? part.oldText : null, after: part.newText };
  return null;
}

function outputText(output: unknown): string {
  if (output === undefined || output === null) return "";
  if (typeof output === "string") return output;
  if (typeof output === "object" && "output" in output && typeof output.output === "string") return output.output;
  return JSON.stringify(output);
}

function isEmpty(input: unknown): boolean {
  return input === undefined || input === null || (typeof input === "object" && Object.keys(input).length === 0);
}
