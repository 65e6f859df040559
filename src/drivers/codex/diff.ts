/** Codex gives changes as hunks; an item carries the text before and after. */
import type { TurnItems } from "../../contract/turn.ts";
import { objectAt, textAt } from "../cli-harness/fields.ts";

export function changeDiff(change: unknown): TurnItems["tool_call"]["diff"] {
  const path = textAt(change, "path");
  const diff = textAt(change, "diff");
  if (path === null || diff === null) return null;
  const kind = textAt(objectAt(change, "kind"), "type");
  if (kind === "add") return { path, before: null, after: diff };
  if (kind === "delete") return { path, before: diff, after: "" };
  return { path: textAt(objectAt(change, "kind"), "move_path") ?? path, ...sides(diff) };
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
