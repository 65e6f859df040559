/** The rows of a transcript: one for each message, turn, text, tool call and notice. */
import type { ChangeCounts } from "@aegis/contract/changes.ts";
import type { TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { TurnError, TurnItems, TurnReason, Usage } from "@aegis/contract/turn.ts";

export type Diff = NonNullable<TurnItems["tool_call"]["diff"]>;

export type RowBody =
  | { kind: "message"; message: Message }
  | {
      kind: "turn";
      turn: TurnId;
      started_at: number;
      ended_at: number | null;
      reason: TurnReason | null;
      usage: Usage | null;
      /** What the turn changed in a git project. */
      changes: ChangeCounts | null;
    }
  | { kind: "text" | "thinking"; parts: string[]; live: boolean }
  | { kind: "tool"; call: TurnItems["tool_call"]; result: ToolResult | null }
  | { kind: "plan"; entries: TurnItems["plan"]["entries"] }
  | { kind: "notice"; level: "info" | "warning" | "error"; text: string }
  | { kind: "compaction"; summary: string }
  /** The end of a turn that did not complete. */
  | { kind: "end"; reason: TurnReason; error: TurnError | null };

export type ToolResult = TurnItems["tool_result"] & { at: number };
export type TextBody = Extract<RowBody, { kind: "text" | "thinking" }>;
export type TurnBody = Extract<RowBody, { kind: "turn" }>;

export type Row = { key: string; seq: number; at: number; version: number; body: RowBody };
export type RowOf<K extends RowBody["kind"]> = Row & { body: Extract<RowBody, { kind: K }> };

/** The change that a tool call made: the result knows better than the call what became of it. */
export function diffOfTool({ call, result }: Extract<RowBody, { kind: "tool" }>): Diff | null {
  return result?.diff ?? call.diff;
}
