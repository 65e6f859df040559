/**
 * The rows of a session's transcript. Events change rows in place, and each row counts its changes, so that a long
 * transcript costs no more per event than a short one.
 */
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { MessageId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { FollowedItem } from "../events.ts";
import type { Row, RowBody, TextBody, ToolResult, TurnBody } from "./row.ts";

export class Transcript {
  rows: Row[] = [];
  readonly #byKey = new Map<string, Row>();
  readonly #messages = new Map<MessageId, Message>();
  readonly #results = new Map<string, ToolResult>();
  /** What events said about turns whose head is on an older page. */
  readonly #heads = new Map<TurnId, Partial<TurnBody>>();
  /** Messages of the turn that is open. */
  #taken: readonly MessageId[] = [];
  /** The texts that are being written, and how much of each is here. */
  readonly #streams = new Map<string, { row: Row; body: TextBody; written: number }>();

  /** The oldest event that the rows come from. */
  first = Number.POSITIVE_INFINITY;
  /** The newest event. */
  last = 0;
  /** Counts the changes. */
  version = 0;

  /** Messages that the daemon listed. Those that are here already stay: events keep them up to date. */
  addMessages(messages: readonly Message[]): void {
    for (const message of messages) if (!this.#messages.has(message.id)) this.#messages.set(message.id, message);
    this.version += 1;
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

  messages(): Iterable<Message> {
    return this.#messages.values();
  }

  take(item: FollowedItem): void {
    if (item.kind === "event") this.add(item.event);
    else this.addDelta(item.delta);
  }

  /** Adds a newer event; an event that is here already changes nothing. */
  add(event: Event): void {
    if (event.seq <= this.last) return;
    this.last = event.seq;
    this.first = Math.min(this.first, event.seq);
    this.version += 1;
    this.#apply(event);
  }

  /** Adds a page of older events, and returns how many rows they gave. */
  addOlder(events: readonly Event[]): number {
    const older = new Transcript();
    older.addMessages([...this.#messages.values()]);
    for (const event of events) older.add(event);
    return this.prepend(older);
  }

  /** Adds the rows of an older part, and returns how many of them were not here. */
  prepend(older: Transcript): number {
    for (const row of older.rows) this.#join(row);
    const fresh = older.rows.filter((row) => !this.#byKey.has(row.key));
    for (const row of fresh) this.#byKey.set(row.key, row);
    this.rows = [...fresh, ...this.rows];
    this.first = Math.min(this.first, older.first);
    this.last = Math.max(this.last, older.last);
    this.addMessages([...older.#messages.values()]);
    return fresh.length;
  }

  /** A transcript of the oldest rows. It can be continued with the events after its last one. */
  oldest(most: number): Transcript {
    const part = new Transcript();
    part.rows = this.rows.slice(0, most);
    for (const row of part.rows) part.#byKey.set(row.key, row).set(String(row.seq), row);
    part.first = this.first;
    part.last = (this.rows[most]?.seq ?? this.last + 1) - 1;
    // What waits belongs to the end of the conversation.
    part.addMessages([...this.#messages.values()].filter(({ status }) => status !== "pending"));
    return part;
  }

  addDelta(delta: LiveDelta): void {
    const key = `${delta.turn} ${delta.type} ${delta.message}`;
    const stream = this.#streams.get(key);
    // A gap is filled by the event that carries the whole text.
    if (delta.offset !== (stream?.written ?? 0)) return;
    this.version += 1;
    if (stream === undefined) {
      const body: TextBody = { kind: delta.type, parts: [delta.text], live: true };
      const row = this.#push(body, `${key} ${this.last}`, this.last, Date.now());
      this.#streams.set(key, { row, body, written: delta.text.length });
      return;
    }
    // Parts are joined when they are shown: a string built piece by piece keeps every piece in memory.
    stream.body.parts.push(delta.text);
    stream.written += delta.text.length;
    stream.row.version += 1;
  }

  /** Drops the oldest rows and returns how many. They can be loaded again. */
  trim(most: number): number {
    let surplus = this.rows.length - most;
    if (surplus <= 0) return 0;
    // The rows of one event stay together, because a page of history brings all of them or none.
    while (surplus < this.rows.length - 1 && this.rows[surplus]?.seq === this.rows[surplus - 1]?.seq) surplus += 1;
    for (const { key, seq } of this.rows.slice(0, surplus)) {
      this.#byKey.delete(key);
      this.#byKey.delete(String(seq));
    }
    this.rows = this.rows.slice(surplus);
    this.first = this.rows[0]?.seq ?? this.first;
    this.version += 1;
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
        // If the harness has to be asked first, the turn that sends the message again has already started.
        if (!this.#taken.includes(event.data.message)) this.#status(event.data.message, "pending");
        return;
      case "session.closed":
        for (const id of event.data.refused) this.#status(id, "refused");
        return;
      case "message.received": {
        const message = this.#messages.get(event.data.message);
        if (message === undefined) return;
        const { sent, body } = message;
        this.#messages.set(message.id, { ...message, body: event.data.body, sent: sent ?? body });
        return;
      }
      case "message.steered":
        this.#showMessage(event.data.message, event);
        return;
      case "turn.started":
        this.#taken = event.data.messages;
        for (const id of event.data.messages) this.#showMessage(id, event);
        this.#pushOf(
          event,
          {
            kind: "turn",
            turn: event.data.turn,
            started_at: event.at,
            ended_at: null,
            reason: null,
            usage: null,
            changes: null,
          },
          event.data.turn,
        );
        return;
      case "turn.text":
      case "turn.thinking": {
        const kind = event.type === "turn.text" ? "text" : "thinking";
        const key = `${event.data.turn} ${kind} ${event.data.message}`;
        const stream = this.#streams.get(key);
        const body: TextBody = { kind, parts: [event.data.text], live: false };
        if (stream === undefined) this.#pushOf(event, body);
        else this.#settle(stream.row, body, event);
        this.#streams.delete(key);
        return;
      }
      case "turn.tool_call": {
        const { turn, ...call } = event.data;
        const key = toolKey(turn, call.call);
        const known = this.#byKey.get(key);
        if (known?.body.kind === "tool") this.#change(known, { ...known.body, call });
        else this.#pushOf(event, { kind: "tool", call, result: this.#results.get(key) ?? null }, key);
        return;
      }
      case "turn.tool_result": {
        const { turn, ...data } = event.data;
        const result: ToolResult = { ...data, at: event.at };
        const key = toolKey(turn, result.call);
        const row = this.#byKey.get(key);
        if (row?.body.kind === "tool") this.#change(row, { ...row.body, result });
        // Its call is on an older page.
        else this.#results.set(key, result);
        return;
      }
      case "turn.plan":
        this.#pushOf(event, { kind: "plan", entries: event.data.entries });
        return;
      case "turn.compaction":
        this.#pushOf(event, { kind: "compaction", summary: event.data.summary });
        return;
      case "turn.notice":
      case "session.notice":
        this.#pushOf(event, { kind: "notice", level: event.data.level, text: event.data.text });
        return;
      case "session.memory_lost":
        this.#pushOf(event, { kind: "notice", level: "warning", text: "The agent has lost everything said before." });
        return;
      case "changes.recorded":
        this.#head(event.data.turn, { changes: event.data });
        return;
      case "turn.ended": {
        const { turn, reason, error, usage } = event.data;
        this.#taken = [];
        this.#head(turn, { ended_at: event.at, reason, usage });
        // Text that was cut off stays as it is.
        for (const { row, body } of this.#streams.values()) this.#change(row, { ...body, live: false });
        this.#streams.clear();
        if (reason !== "completed") this.#pushOf(event, { kind: "end", reason, error });
        return;
      }
      default:
    }
  }

  /** The head of the turn may be on an older page. */
  #head(turn: TurnId, known: Partial<TurnBody>): void {
    const row = this.#byKey.get(turn);
    if (row?.body.kind === "turn") this.#change(row, { ...row.body, ...known });
    else this.#heads.set(turn, { ...this.#heads.get(turn), ...known });
  }

  /** What newer events said about a row of an older page. */
  #join(row: Row): void {
    if (row.body.kind === "turn") Object.assign(row.body, this.#heads.get(row.body.turn));
    if (row.body.kind === "tool") row.body.result ??= this.#results.get(row.key) ?? null;
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
    if (!this.#byKey.has(id)) this.#pushOf(event, { kind: "message", message }, id);
  }

  #pushOf(event: Event, body: RowBody, key = String(event.seq)): void {
    if (!this.#byKey.has(key)) this.#push(body, key, event.seq, event.at);
  }

  /** The event with the whole of a text that was streamed: a page of history that contains it must not show it again. */
  #settle(row: Row, body: TextBody, { seq }: Event): void {
    row.seq = seq;
    this.#byKey.set(String(seq), row);
    this.#change(row, body);
  }

  #push(body: RowBody, key: string, seq: number, at: number): Row {
    const row: Row = { key, seq, at, version: 0, body };
    this.rows.push(row);
    this.#byKey.set(key, row);
    return row;
  }

  #change(row: Row, body: RowBody): void {
    row.body = body;
    row.version += 1;
  }
}

function toolKey(turn: TurnId, call: string): string {
  return `${turn} tool ${call}`;
}
