/** Converts Codex's hunks to the text before and after that a turn item contains. */
import type { TurnItems } from "@aegis/contract/turn.ts";
import { objectAt, textAt } from "../cli-harness/fields.ts";
import type { FileChange } from "../driver.ts";

export function changeDiff(change: unknown): TurnItems["tool_call"]["diff"] {
  const path = textAt(change, "path");
  const diff = textAt(change, "diff");
  if (path === null || diff === null) return null;
  const kind = textAt(objectAt(change, "kind"), "type");
  if (kind === "add") return { path, before: null, after: diff };
  if (kind === "delete") return { path, before: diff, after: "" };
  return { path: textAt(objectAt(change, "kind"), "move_path") ?? path, ...sides(diff) };
}

/** The same for a person who answers an ask: hunks stay as they are, so that the gaps between them are visible. */
export function fileChange(change: unknown): FileChange[] {
  const path = textAt(change, "path");
  const diff = textAt(change, "diff");
  if (path === null || diff === null) return [];
  const kind = objectAt(change, "kind");
  if (kind.type === "add") return [{ path, after: diff }];
  if (kind.type === "delete") return [{ path, before: diff, after: null }];
  const moved = textAt(kind, "move_path");
  return [{ path: moved === null ? path : `${path} → ${moved}`, patch: diff }];
}

/** The files that a patch changes, for the check of their content. */
export function changedFiles(change: unknown): FileChange[] {
  const [path, diff] = [textAt(change, "path"), textAt(change, "diff") ?? ""];
  if (path === null) return [];
  const kind = objectAt(change, "kind");
  if (kind.type === "add") return [{ path, after: diff }];
  if (kind.type === "delete") return [{ path, before: diff, after: null }];
  const moved = textAt(kind, "move_path");
  return [{ path, patch: diff }, ...(moved === null ? [] : [{ path: moved, after: "" }])];
}

function sides(diff: string): { before: string; after: string } {
  const before: string[] = [];
  const after: string[] = [];
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const text = line.slice(1);
    if (line.startsWith("@@") || line.startsWith("\\")) continue;
    if (!line.startsWith("+")) before.push(text);
    if (!line.startsWith("-")) after.push(text);
  }
  return { before: before.join("\n"), after: after.join("\n") };
}
