/**
 * The rows of a session's transcript. Events change rows in place, and each row counts its changes, so that a long
 * transcript costs no more per event than a short one.
 */
import type { ChangeCounts } from "@aegis/contract/changes.ts";
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { MessageId, TurnId } from "@aegis/contract/ids.ts";
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
      error: TurnError | null;
      usage: Usage | null;
      /** What the turn changed in a git project. */
      changes: ChangeCounts | null;
    }
  | { kind: "text" | "thinking"; parts: string[]; live: boolean }
  | { kind: "tool"; call: TurnItems["tool_call"]; result: TurnItems["tool_result"] | null }
  | { kind: "plan"; entries: TurnItems["plan"]["entries"] }
  | { kind: "notice"; level: "info" | "warning" | "error"; text: string }
  | { kind: "compaction"; summary: string };

type TurnBody = Extract<RowBody, { kind: "turn" }>;

export type Row = { key: string; seq: number; at: number; version: number; body: RowBody };
export type RowOf<K extends RowBody["kind"]> = Row & { body: Extract<RowBody, { kind: K }> };

export class Transcript {
  rows: Row[] = [];
  readonly #byKey = new Map<string, Row>();
  readonly #messages = new Map<MessageId, Message>();
  readonly #results = new Map<string, TurnItems["tool_result"]>();
  #last = 0;

  /** The oldest event that the rows come from. */
  first = Number.POSITIVE_INFINITY;

  addMessages(messages: readonly Message[]): void {
    for (const message of messages) this.#messages.set(message.id, message);
  }

  /** Messages that wait for a turn, oldest first. */
  waiting(): Message[] {
    return [...this.#messages.values()]
      .filter((message) => message.status === "pending")
      .sort((a, b) => a.admitted_at - b.admitted_at);
  }

  message(id: MessageId): Message | undefined {
    return this.#messages.get(id);
  }

  /** Adds a newer event; an event that is here already changes nothing. */
  add(event: Event): void {
    if (event.seq <= this.#last) return;
    this.#last = event.seq;
    this.first = Math.min(this.first, event.seq);
    this.#apply(event);
  }

  /** Adds a page of older events, and returns how many rows they gave. */
  addOlder(events: readonly Event[]): number {
    const older = new Transcript();
    older.addMessages([...this.#messages.values()]);
    for (const event of events) older.add(event);
    for (const row of older.rows) this.#join(row);
    const fresh = older.rows.filter((row) => !this.#byKey.has(row.key));
    for (const row of fresh) this.#byKey.set(row.key, row);
    this.rows = [...fresh, ...this.rows];
    this.first = Math.min(this.first, older.first);
    for (const [id, message] of older.#messages) if (!this.#messages.has(id)) this.#messages.set(id, message);
    return fresh.length;
  }

  addDelta(delta: LiveDelta): void {
    const key = textKey(delta.turn, delta.message, delta.type);
    const row = this.#byKey.get(key);
    if (row === undefined) {
      if (delta.offset !== 0) return;
      this.#push({ kind: delta.type, parts: [delta.text], live: true }, key, this.#last, Date.now());
      return;
    }
    if (row.body.kind !== delta.type || !row.body.live) return;
    // Parts are joined when they are shown: a string built piece by piece keeps every piece in memory.
    row.body.parts.push(delta.text);
    row.version += 1;
  }

  /** Drops the oldest rows and returns how many. They can be loaded again. */
  trim(most: number): number {
    const surplus = this.rows.length - most;
    if (surplus <= 0) return 0;
    for (const row of this.rows.slice(0, surplus)) this.#byKey.delete(row.key);
    this.rows = this.rows.slice(surplus);
    this.first = this.rows[0]?.seq ?? this.first;
    // A page of history brings the messages of its turns again.
    for (const [id, { status }] of this.#messages)
      if (status !== "pending" && !this.#byKey.has(id)) this.#messages.delete(id);
    return surplus;
  }

  #apply(event: Event): void {
    switch (event.type) {
      case "message.admitted":
        this.#messages.set(event.data.message.id, event.data.message);
        return;
      case "message.cancelled":
        this.#status(event.data.message, "cancelled");
        return;
      case "message.lost":
        this.#status(event.data.message, "lost");
        return;
      case "message.redelivered":
        this.#status(event.data.message, "pending");
        return;
      case "message.received": {
        const message = this.#messages.get(event.data.message);
        if (message !== undefined) this.#messages.set(message.id, { ...message, body: event.data.body });
        return;
      }
      case "message.steered":
        this.#showMessage(event.data.message, event);
        return;
      case "turn.started":
        for (const id of event.data.messages) this.#showMessage(id, event);
        this.#push(
          {
            kind: "turn",
            turn: event.data.turn,
            started_at: event.at,
            ended_at: null,
            reason: null,
            error: null,
            usage: null,
            changes: null,
          },
          event.data.turn,
          event.seq,
          event.at,
        );
        return;
      case "turn.text":
      case "turn.thinking": {
        const kind = event.type === "turn.text" ? "text" : "thinking";
        const key = textKey(event.data.turn, event.data.message, kind);
        const row = this.#byKey.get(key);
        if (row !== undefined && isStreaming(row.body))
          this.#change(row, { kind, parts: [event.data.text], live: false });
        else this.#push({ kind, parts: [event.data.text], live: false }, `${event.seq}`, event.seq, event.at);
        return;
      }
      case "turn.tool_call": {
        const { turn, ...call } = event.data;
        const key = toolKey(turn, call.call);
        const known = this.#byKey.get(key);
        if (known?.body.kind === "tool") this.#change(known, { ...known.body, call });
        else this.#push({ kind: "tool", call, result: this.#results.get(key) ?? null }, key, event.seq, event.at);
        return;
      }
      case "turn.tool_result": {
        const { turn, ...result } = event.data;
        const key = toolKey(turn, result.call);
        const row = this.#byKey.get(key);
        if (row?.body.kind === "tool") this.#change(row, { ...row.body, result });
        // Its call is on an older page.
        else this.#results.set(key, result);
        return;
      }
      case "turn.plan":
        this.#push({ kind: "plan", entries: event.data.entries }, `${event.seq}`, event.seq, event.at);
        return;
      case "turn.compaction":
        this.#push({ kind: "compaction", summary: event.data.summary }, `${event.seq}`, event.seq, event.at);
        return;
      case "turn.notice":
      case "session.notice":
        this.#push(
          { kind: "notice", level: event.data.level, text: event.data.text },
          `${event.seq}`,
          event.seq,
          event.at,
        );
        return;
      case "session.memory_lost":
        this.#push(
          { kind: "notice", level: "warning", text: "The agent has lost everything said before." },
          ...([`${event.seq}`, event.seq, event.at] as const),
        );
        return;
      case "changes.recorded":
        this.#turn(event.data.turn, { changes: event.data });
        return;
      case "turn.ended": {
        const { turn, reason, error, usage } = event.data;
        this.#turn(turn, { ended_at: event.at, reason, error, usage });
        this.#settleLive();
        return;
      }
      default:
    }
  }

  readonly #ends = new Map<TurnId, Partial<TurnBody>>();

  /** The head of the turn may be on an older page. */
  #turn(turn: TurnId, known: Partial<TurnBody>): void {
    const row = this.#byKey.get(turn);
    if (row?.body.kind === "turn") this.#change(row, { ...row.body, ...known });
    else this.#ends.set(turn, { ...this.#ends.get(turn), ...known });
  }

  /** What newer events said about a row of an older page. */
  #join(row: Row): void {
    if (row.body.kind === "turn") Object.assign(row.body, this.#ends.get(row.body.turn));
    if (row.body.kind === "tool") row.body.result ??= this.#results.get(row.key) ?? null;
  }

  /** Text that was cut off stays as it is. */
  #settleLive(): void {
    for (let index = this.rows.length - 1; index >= 0; index--) {
      const row = this.rows[index];
      if (row === undefined || row.body.kind === "turn") return;
      if (isStreaming(row.body)) this.#change(row, { ...row.body, live: false });
    }
  }

  #status(id: MessageId, status: Message["status"]): void {
    const message = this.#messages.get(id);
    if (message !== undefined) this.#messages.set(id, { ...message, status });
  }

  #showMessage(id: MessageId, event: Event): void {
    const known = this.#messages.get(id);
    if (known === undefined) return;
    const message: Message = { ...known, status: "dispatched" };
    this.#messages.set(id, message);
    // A message that is sent again keeps its place.
    if (!this.#byKey.has(id)) this.#push({ kind: "message", message }, id, event.seq, event.at);
  }

  #push(body: RowBody, key: string, seq: number, at: number): void {
    const row: Row = { key, seq, at, version: 0, body };
    this.rows.push(row);
    this.#byKey.set(key, row);
  }

  #change(row: Row, body: RowBody): void {
    row.body = body;
    row.version += 1;
  }
}

function isStreaming(body: RowBody): body is Extract<RowBody, { kind: "text" | "thinking" }> {
  return (body.kind === "text" || body.kind === "thinking") && body.live;
}

function textKey(turn: TurnId, message: string, kind: "text" | "thinking"): string {
  return `${turn} ${kind} ${message}`;
}

function toolKey(turn: TurnId, call: string): string {
  return `${turn} tool ${call}`;
}

/** The change that a tool call made: the result knows better than the call what became of it. */
export function diffOfTool({ call, result }: Extract<RowBody, { kind: "tool" }>): Diff | null {
  return result?.diff ?? call.diff;
}
