/** What a session is doing, in a few words. The text may contain anything that an agent wrote. */
import type { TurnItems } from "@aegis/contract/turn.ts";
import type { SessionState, TurnItem, TurnState } from "../state.ts";

export type ToolCall = TurnItems["tool_call"];

export type Activity = {
  /** `asks` waits for a person. */
  readonly state: "asks" | "working" | "ready" | "error" | "closed";
  readonly words: string;
  /** Since when; null if nothing happens. */
  readonly since: number | null;
};

export function activityOf(session: SessionState): Activity {
  const [ask] = session.asks;
  if (session.state === "closed") return { state: "closed", words: "closed", since: session.closed_at };
  if (ask !== undefined) return { state: "asks", words: ask.question, since: ask.created_at };
  if (session.state === "error") return { state: "error", words: session.error ?? "error", since: null };
  const turn = openTurn(session);
  if (session.state === "working")
    return { state: "working", words: turn === null ? "starts" : turnActivity(turn), since: turn?.started_at ?? null };
  return { state: "ready", words: "", since: session.turns.at(-1)?.ended_at ?? null };
}

export function openTurn(session: SessionState): TurnState | null {
  const last = session.turns.at(-1);
  return last !== undefined && last.ended_at === null ? last : null;
}

function turnActivity(turn: TurnState): string {
  const writing = Object.values(turn.writing);
  if (writing.some(({ type }) => type === "text")) return "writes";
  if (writing.length > 0) return "thinks";
  const done = new Set<string>();
  for (const item of turn.items.toReversed()) {
    if (item.type === "tool_result") done.add(item.data.call);
    if (item.type === "tool_call") return done.has(item.data.call) ? "thinks" : toolWords(item.data);
    if (item.type === "text" || item.type === "thinking") return "thinks";
  }
  return "thinks";
}

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

/** The last text that an agent said in a session; null if the client has seen none. */
export function lastWords(session: SessionState): string | null {
  for (const turn of session.turns.toReversed()) {
    const said = turn.items.findLast((item): item is Extract<TurnItem, { type: "text" }> => item.type === "text");
    if (said !== undefined) return said.data.text;
    if (turn.text !== "") return turn.text;
  }
  return null;
}
