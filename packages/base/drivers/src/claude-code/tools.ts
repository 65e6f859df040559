/** Maps Claude Code's own tools to kind, title, locations and changes, from a call's name and input. */
import type { ToolKind, TurnItems } from "@aegis/contract/turn.ts";
import { isObject, type JsonFields, listAt, numberAt, oneLine, textAt, wholeLine } from "../cli-harness/fields.ts";
import type { FileChange, FilesOf } from "../driver.ts";

type Diff = TurnItems["tool_call"]["diff"];
type ToolCall = TurnItems["tool_call"];

const kinds: Record<string, ToolKind> = {
  Read: "read",
  NotebookRead: "read",
  LS: "read",
  BashOutput: "read",
  Edit: "edit",
  MultiEdit: "edit",
  Write: "edit",
  NotebookEdit: "edit",
  Bash: "execute",
  PowerShell: "execute",
  KillShell: "execute",
  TaskStop: "execute",
  Monitor: "execute",
  Glob: "search",
  Grep: "search",
  ToolSearch: "search",
  WebFetch: "fetch",
  WebSearch: "fetch",
  TodoWrite: "think",
  EnterPlanMode: "think",
  ExitPlanMode: "think",
};

export function toolKind(name: string): ToolKind {
  return kinds[name] ?? "other";
}

export function describeCall(call: string, name: string, input: unknown, parent: string | null): ToolCall {
  return {
    call,
    name,
    kind: toolKind(name),
    title: toolTitle(name, input),
    input,
    locations: toolLocations(input),
    diff: callDiff(name, input),
    parent,
  };
}

/** One line for event lists. */
function toolTitle(name: string, input: unknown): string {
  return oneLine(wholeTitle(name, input));
}

/** For a person who answers an ask: nothing is truncated. */
export function wholeTitle(name: string, input: unknown): string {
  const subject = ["command", "file_path", "notebook_path", "pattern", "url", "query", "description", "path"]
    .map((key) => textAt(input, key))
    .find((text) => text !== null && text !== "");
  if (name === "AskUserQuestion") return wholeLine(questionTexts(input).join(" "));
  if (subject === undefined || subject === null) return name;
  return wholeLine(name === "Bash" ? subject : `${name} ${subject}`);
}

/** The file changes of a call, for a person who answers an ask. */
export function fileChanges(name: string, input: unknown): FileChange[] {
  const path = textAt(input, "file_path") ?? textAt(input, "notebook_path");
  if (path === null) return [];
  const edit = (given: unknown): FileChange => ({
    path,
    before: textAt(given, "old_string") ?? "",
    after: textAt(given, "new_string") ?? "",
    part: true,
  });
  switch (name) {
    case "Write":
      return [{ path, after: textAt(input, "content") ?? "" }];
    case "Edit":
      return [edit(input)];
    case "MultiEdit":
      return listAt(input, "edits").map(edit);
    case "NotebookEdit":
      return [{ path, before: null, after: textAt(input, "new_source") ?? "", part: true }];
    default:
      return [];
  }
}

/** The files that a call of the tool would read or change. */
export function filesOf(name: string): FilesOf {
  return (input) => {
    const path = name === "Read" ? textAt(input, "file_path") : null;
    return { reads: path === null ? [] : [path], changes: fileChanges(name, input) };
  };
}

function questionTexts(input: unknown): string[] {
  return listAt(input, "questions").flatMap((question) => textAt(question, "question") ?? []);
}

/** The entries of a to-do list, or null if the call is not one. */
export function planOf(name: string, input: unknown): TurnItems["plan"] | null {
  if (name !== "TodoWrite") return null;
  return {
    entries: listAt(input, "todos").map((todo) => {
      const status = textAt(todo, "status");
      return {
        text: textAt(todo, "content") ?? "",
        status: status === "in_progress" || status === "completed" ? status : "pending",
      };
    }),
  };
}

/** The change that an edit made, from the structured result next to the text. */
export function resultDiff(result: unknown): Diff {
  if (!isObject(result)) return null;
  const path = textAt(result, "filePath");
  if (path === null) return null;
  const before = textAt(result, "originalFile");
  const whole = textAt(result, "content");
  if (whole !== null && "originalFile" in result) return { path, before, after: whole };
  const [from, to] = [textAt(result, "oldString"), textAt(result, "newString")];
  if (from === null || to === null) return null;
  if (before === null || from === "" || !before.includes(from)) return { path, before: from, after: to };
  // Replacement functions keep `$&` in code unchanged.
  return {
    path,
    before,
    after: result.replaceAll === true ? before.replaceAll(from, () => to) : before.replace(from, () => to),
  };
}

function callDiff(name: string, input: unknown): Diff {
  const path = textAt(input, "file_path") ?? textAt(input, "notebook_path");
  if (path === null) return null;
  if (name === "Write") return { path, before: null, after: textAt(input, "content") ?? "" };
  if (name === "NotebookEdit") return { path, before: null, after: textAt(input, "new_source") ?? "" };
  if (name !== "Edit") return null;
  return { path, before: textAt(input, "old_string") ?? "", after: textAt(input, "new_string") ?? "" };
}

function toolLocations(input: unknown): ToolCall["locations"] {
  const path = textAt(input, "file_path") ?? textAt(input, "notebook_path") ?? textAt(input, "path");
  if (path === null) return [];
  const line = isObject(input) ? numberAt(input as JsonFields, "offset") : null;
  return [line === null || !Number.isInteger(line) ? { path } : { path, line }];
}
