/** Assembles one tool call from its announcement, its updates and its permission request. */
import type { ToolKind, TurnItems } from "@aegis/contract/turn.ts";
import type { FileChange } from "../driver.ts";
import type { ContentBlock, ToolCallPatch, ToolContent } from "./updates.ts";

/** The plane's server name in every agent: short and lower case, because agents build tool names from it. */
export const planeServer = "aegis";

/** How an agent names its tools. */
export type ToolNaming = {
  /**
   * The plane's tool name if the call is certainly a plane call, else null. It must use only fields that the model
   * cannot write, because the result allows the call without a question.
   */
  planeTool(call: ToolCallState): string | null;
  /** The agent's own name of the tool if the call has no name field: from the title, from the id, or null. */
  toolName(call: ToolCallState): string | null;
  /** The kind of tools by name, for agents that report `other` for all of them. */
  kinds: Readonly<Record<string, ToolKind>>;
};

export type ToolCallState = {
  id: string;
  /** The first title: later titles often contain text from the model. */
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

/** Applies one more message to a call. Fields that the message omits stay unchanged. */
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
    input: [patch.rawInput, before?.input, inputInText(patch)].find((input) => !isEmpty(input)) ?? {},
    output: patch.rawOutput ?? before?.output,
    meta: { ...before?.meta, ...patch._meta },
  };
}

export function isFinal(call: ToolCallState): boolean {
  return call.status === "completed" || call.status === "failed";
}

export function hasInput(call: ToolCallState): boolean {
  return !isEmpty(call.input);
}

/** The kind that the agent reports, unless the input contains a command: a kind says nothing about what would run. */
export function kindOf(call: ToolCallState, naming: ToolNaming): ToolKind {
  const said = kinds[call.kind] ?? naming.kinds[ownName(call, naming) ?? ""] ?? "other";
  return trusted.has(said) && hasCommand(call.input) ? "execute" : said;
}

/** Aegis may allow calls of these kinds without asking a person. */
const trusted: ReadonlySet<ToolKind> = new Set(["read", "search", "think", "edit"]);

function hasCommand(input: unknown): boolean {
  if (Array.isArray(input)) return input.some(hasCommand);
  if (typeof input !== "object" || input === null) return false;
  return Object.entries(input).some(([key, value]) => (commandKeys.test(key) && isCommand(value)) || hasCommand(value));
}

const commandKeys = /^(?:commands?|cmd|command_?line|script|shell|code|argv|args)$/i;

function isCommand(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isCommand);
  return typeof value === "string" && value !== "" && !editorCommands.has(value);
}

/** Tools that edit files name their operation so. As programs, these would do nothing without arguments. */
const editorCommands = new Set(["view", "create", "write", "str_replace", "insert", "undo_edit"]);

/** The tool's name. A plane tool is always `mcp__aegis__<tool>`, independent of the agent's own name for it. */
export function nameOf(call: ToolCallState, naming: ToolNaming): string {
  const plane = naming.planeTool(call);
  return plane === null ? (ownName(call, naming) ?? kindOf(call, naming)) : `mcp__${planeServer}__${plane}`;
}

/** The displayed title: some agents use the arguments as the title of the plane's tools. */
export function titleOf(call: ToolCallState, naming: ToolNaming): string {
  return naming.planeTool(call) ?? (call.title === "" ? nameOf(call, naming) : call.title);
}

export function callItem(call: ToolCallState, naming: ToolNaming): TurnItems["tool_call"] {
  return {
    call: call.id,
    name: nameOf(call, naming),
    kind: kindOf(call, naming),
    title: titleOf(call, naming),
    input: call.input,
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

/** Agents without `rawInput` put the arguments as JSON into the displayed text. */
function inputInText(patch: ToolCallPatch): unknown {
  const text = patch.status === "completed" || patch.status === "failed" ? "" : textOf(patch.content ?? []).trim();
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function ownName(call: ToolCallState, naming: ToolNaming): string | null {
  return call.name ?? metaText(call, "toolName") ?? naming.toolName(call);
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

/** The file changes of the call, as far as the agent shows them. */
export function changesOf({ content }: ToolCallState): FileChange[] {
  return content.flatMap((part) => {
    if (part.type !== "diff" || !("newText" in part)) return [];
    if (typeof part.newText !== "string" || typeof part.path !== "string") return [];
    return [{ path: part.path, before: typeof part.oldText === "string" ? part.oldText : null, after: part.newText }];
  });
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
