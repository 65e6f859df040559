/** Maps the items of a Codex thread to calls with kind, title, locations and changes, and to their results. */
import type { ToolKind, TurnItems } from "@aegis/contract/turn.ts";
import { isObject, type JsonFields, listAt, numberAt, objectAt, oneLine, textAt } from "../cli-harness/fields.ts";
import { changeDiff } from "./diff.ts";
import { unwrapShell } from "./unwrap-shell.ts";

type Call = TurnItems["tool_call"];
type Result = TurnItems["tool_result"];

/** The calls of an item: one, or for a patch one per file. Null if it is not a call. */
export function callsOf(item: JsonFields, parent: string | null): Call[] | null {
  const call = textAt(item, "id") ?? "";
  const base = { call, locations: [], diff: null, parent };
  switch (item.type) {
    case "commandExecution": {
      const command = unwrapShell(textAt(item, "command") ?? "");
      const input = { command, cwd: item.cwd };
      const { kind, locations } = readActions(listAt(item, "commandActions"));
      return [{ ...base, name: "shell", kind, title: oneLine(command), input, locations }];
    }
    case "fileChange":
      return listAt(item, "changes").map((change, index) => {
        const path = textAt(change, "path") ?? "";
        const title = oneLine(`${textAt(objectAt(change, "kind"), "type") ?? "change"} ${path}`);
        const locations = [{ path }];
        const name = "apply_patch";
        return {
          ...base,
          call: nth(call, index),
          name,
          kind: "edit",
          title,
          input: change,
          locations,
          diff: changeDiff(change),
        };
      });
    case "mcpToolCall": {
      const name = `mcp__${textAt(item, "server")}__${textAt(item, "tool")}`;
      return [{ ...base, name, kind: "other", title: textAt(item, "tool") ?? name, input: item.arguments }];
    }
    case "dynamicToolCall": {
      const name = textAt(item, "tool") ?? "tool";
      return [{ ...base, name, kind: "other", title: name, input: item.arguments }];
    }
    case "collabAgentToolCall": {
      const name = textAt(item, "tool") ?? "agent";
      const title = oneLine(`${name} ${textAt(item, "prompt") ?? ""}`);
      return [{ ...base, name, kind: "other", title, input: { prompt: item.prompt, model: item.model } }];
    }
    case "webSearch": {
      const query = textAt(item, "query") ?? "";
      return [{ ...base, name: "web_search", kind: "fetch", title: oneLine(`search ${query}`), input: { query } }];
    }
    case "imageView": {
      const path = textAt(item, "path") ?? "";
      return [
        {
          ...base,
          name: "view_image",
          kind: "read",
          title: oneLine(`view ${path}`),
          input: { path },
          locations: [{ path }],
        },
      ];
    }
    default:
      return null;
  }
}

export function resultsOf(item: JsonFields): Result[] {
  const call = textAt(item, "id") ?? "";
  const status = textAt(item, "status") ?? "completed";
  const is_error = status === "failed" || status === "declined" || item.success === false;
  if (item.type === "fileChange") {
    return listAt(item, "changes").map((change, index) => ({
      call: nth(call, index),
      output: status,
      is_error,
      diff: is_error ? null : changeDiff(change),
    }));
  }
  return [{ call, output: outputOf(item, status), is_error, diff: null }];
}

function outputOf(item: JsonFields, status: string): string {
  if (item.type === "commandExecution") {
    const exit = numberAt(item, "exitCode");
    const output = textAt(item, "aggregatedOutput") ?? (status === "declined" ? "declined" : "");
    return exit === null || exit === 0 ? output : `${output}\n[exit code ${exit}]`.trimStart();
  }
  if (item.type === "mcpToolCall") {
    return textAt(objectAt(item, "error"), "message") ?? contentText(listAt(objectAt(item, "result"), "content"));
  }
  if (item.type === "dynamicToolCall") return contentText(listAt(item, "contentItems"));
  return status;
}

function contentText(content: readonly unknown[]): string {
  return content.map((part) => textAt(part, "text") ?? `[${textAt(part, "type") ?? "data"}]`).join("\n");
}

function nth(call: string, index: number): string {
  return index === 0 ? call : `${call}:${index}`;
}

/** A command that only reads or searches gets that kind. */
function readActions(actions: readonly unknown[]): { kind: ToolKind; locations: Call["locations"] } {
  const types = new Set(actions.map((action) => textAt(action, "type")));
  const isOnly = (...wanted: string[]) => types.size > 0 && [...types].every((type) => wanted.includes(type ?? ""));
  const kind = isOnly("read") ? "read" : isOnly("search", "listFiles", "read") ? "search" : "execute";
  const locations = actions.filter(isObject).flatMap((action) => {
    const path = textAt(action, "path");
    return path === null ? [] : [{ path }];
  });
  return { kind, locations };
}
