/** A tool call in a few words. The text may contain anything that an agent wrote. */
import type { TurnItems } from "@aegis/contract/turn.ts";

export type ToolCall = TurnItems["tool_call"];

const verbs: Readonly<Record<ToolCall["kind"], string>> = {
  read: "reads",
  edit: "edits",
  execute: "runs",
  search: "searches",
  fetch: "fetches",
  think: "thinks",
  other: "uses",
};

/** `runs npm test`, `edits src/a.ts`, `uses aegis_handoff`. */
export function toolWords(call: ToolCall): string {
  const verb = verbs[call.kind] ?? "uses";
  return `${verb} ${toolObject(call)}`;
}

/** The command, the file or the title of a call. */
export function toolObject(call: ToolCall): string {
  const command = textField(call.input, "command");
  if (call.kind === "execute" && command !== null) return command;
  const [place] = call.locations;
  if (place !== undefined) return place.path;
  return call.title === "" ? call.name : call.title;
}

export function textField(value: unknown, key: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  const field = Object.entries(value).find(([name]) => name === key)?.[1];
  return typeof field === "string" ? field : null;
}
