/** A conversation as a list of items. An item that did not change keeps its identity, so that a client can cache it. */
import type { Message } from "@aegis/contract/message.ts";
import type { TurnError, TurnItems, TurnReason } from "@aegis/contract/turn.ts";
import type { SessionState, TurnItem, TurnState } from "../state.ts";
import { splitBlocks } from "./blocks.ts";

type Result = TurnItems["tool_result"];

export type TranscriptItem =
  | { readonly kind: "message"; readonly key: string; readonly message: Message }
  /** One block of a text. `streaming`: more may follow. */
  | { readonly kind: "text" | "thinking"; readonly key: string; readonly text: string; readonly streaming: boolean }
  | {
      readonly kind: "tool";
      readonly key: string;
      readonly call: TurnItems["tool_call"];
      readonly result: Result | null;
      readonly started_at: number;
      readonly ms: number | null;
    }
  | { readonly kind: "plan"; readonly key: string; readonly entries: TurnItems["plan"]["entries"] }
  | {
      readonly kind: "notice";
      readonly key: string;
      readonly level: "info" | "warning" | "error";
      readonly text: string;
    }
  | {
      readonly kind: "ended";
      readonly key: string;
      readonly reason: TurnReason;
      readonly error: TurnError | null;
    };

/** Returns a function from a session to its items. It remembers what it computed for unchanged turns. */
export function createTranscript(): (session: SessionState) => readonly TranscriptItem[] {
  const cache: Cache = { turns: new WeakMap(), items: new WeakMap(), tools: new WeakMap(), blocks: new Map() };
  let lastTurns: readonly TurnState[] | null = null;
  let lastMessages: SessionState["messages"] | null = null;
  let last: readonly TranscriptItem[] = [];
  return (session) => {
    if (session.turns === lastTurns && session.messages === lastMessages) return last;
    lastTurns = session.turns;
    lastMessages = session.messages;
    last = session.turns.flatMap((turn) => turnItems(turn, session, cache));
    return last;
  };
}

type Cache = {
  turns: WeakMap<TurnState, { messages: readonly (Message | undefined)[]; items: TranscriptItem[] }>;
  items: WeakMap<TurnItem, TranscriptItem[]>;
  tools: WeakMap<TurnItem, TranscriptItem & { kind: "tool" }>;
  /** The blocks of texts that are being written, and of messages, by key. */
  blocks: Map<string, TranscriptItem>;
};

function turnItems(turn: TurnState, session: SessionState, cache: Cache): TranscriptItem[] {
  const messages = turn.messages.map((id) => session.messages[id]);
  const known = cache.turns.get(turn);
  if (known?.messages.every((message, index) => message === messages[index])) return known.items;
  const found: TranscriptItem[] = messages.flatMap((message) =>
    message === undefined ? [] : [remembered(cache, { kind: "message", key: message.id, message })],
  );
  const results = new Map<string, { data: Result; at: number }>();
  for (const item of turn.items) if (item.type === "tool_result") results.set(item.data.call, item);
  for (const item of turn.items) found.push(...itemItems(item, turn, results, cache));
  for (const [id, { type, text }] of Object.entries(turn.writing)) found.push(...growing(turn, id, type, text, cache));
  if (turn.ended_at !== null && turn.reason !== null && turn.reason !== "completed") {
    found.push({ kind: "ended", key: `${turn.id}:end`, reason: turn.reason, error: turn.error });
  }
  cache.turns.set(turn, { messages, items: found });
  return found;
}

function itemItems(
  item: TurnItem,
  turn: TurnState,
  results: ReadonlyMap<string, { data: Result; at: number }>,
  cache: Cache,
): TranscriptItem[] {
  if (item.type === "tool_call") return [toolItem(item, turn, results.get(item.data.call), cache)];
  const known = cache.items.get(item);
  if (known !== undefined) return known;
  const made = plainItems(item, turn);
  cache.items.set(item, made);
  return made;
}

function toolItem(
  item: Extract<TurnItem, { type: "tool_call" }>,
  turn: TurnState,
  result: { data: Result; at: number } | undefined,
  cache: Cache,
): TranscriptItem {
  const known = cache.tools.get(item);
  const answer = result?.data ?? null;
  if (known !== undefined && known.result === answer) return known;
  const ms = result === undefined ? null : result.at - item.at;
  const key = `${turn.id}:call:${item.data.call}:${item.seq}`;
  const made = { kind: "tool", key, call: item.data, result: answer, started_at: item.at, ms } as const;
  cache.tools.set(item, made);
  return made;
}

function plainItems(item: TurnItem, turn: TurnState): TranscriptItem[] {
  switch (item.type) {
    case "text":
    case "thinking":
      return textItems(item.type, `${turn.id}:${item.type}:${item.data.message}`, item.data.text, false);
    case "plan":
      return [{ kind: "plan", key: `${turn.id}:plan:${item.seq}`, entries: item.data.entries }];
    case "notice":
      return [{ kind: "notice", key: `${turn.id}:${item.seq}`, level: item.data.level, text: item.data.text }];
    case "compaction":
      return [
        {
          kind: "notice",
          key: `${turn.id}:${item.seq}`,
          level: "info",
          text: "The conversation was summarised to fit the model's context.",
        },
      ];
    default:
      return [];
  }
}

function growing(turn: TurnState, id: string, type: "text" | "thinking", text: string, cache: Cache): TranscriptItem[] {
  return textItems(type, `${turn.id}:${type}:${id}`, text, true).map((item) => remembered(cache, item));
}

/** Thinking is folded, so it stays one item. */
function textItems(type: "text" | "thinking", key: string, text: string, streaming: boolean): TranscriptItem[] {
  const blocks = type === "thinking" ? [text] : splitBlocks(text);
  return blocks.map((block, index) => ({
    kind: type,
    key: `${key}:${index}`,
    text: block,
    streaming: streaming && index === blocks.length - 1,
  }));
}

const mostRemembered = 5_000;

function remembered<T extends TranscriptItem>(cache: Cache, item: T): TranscriptItem {
  const known = cache.blocks.get(item.key);
  if (known !== undefined && isSame(known, item)) return known;
  if (cache.blocks.size > mostRemembered) cache.blocks.clear();
  cache.blocks.set(item.key, item);
  return item;
}

function isSame(a: TranscriptItem, b: TranscriptItem): boolean {
  if (a.kind === "message") return b.kind === "message" && a.message === b.message;
  if (a.kind === "text" || a.kind === "thinking")
    return b.kind === a.kind && a.text === b.text && a.streaming === b.streaming;
  return false;
}
