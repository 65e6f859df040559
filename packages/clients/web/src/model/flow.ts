/** The flow of a team: one lane per session, spans of work in it, and arrows for what one session sent another. Pure. */
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, SessionId, TaskId, TurnId } from "@aegis/contract/ids.ts";
import type { Session } from "@aegis/contract/session.ts";

export type Lane = Pick<Session, "id" | "handle" | "agent" | "parent" | "created_at"> & { depth: number };
export type SpanKind = "turn" | "tool" | "ask" | "failed";
export type Span = { session: SessionId; from: number; to: number | null; kind: SpanKind };
export type ArrowKind = "message" | "task" | "result";
export type Arrow = {
  key: string;
  from: SessionId;
  to: SessionId;
  sent: number;
  /** When the receiver's turn took it; null while it waits. */
  taken: number | null;
  kind: ArrowKind;
  text: string;
};

export class Flow {
  readonly lanes = new Map<SessionId, Lane>();
  readonly spans: Span[] = [];
  readonly arrows: Arrow[] = [];
  /** The time of the newest event. */
  end = 0;
  #last = 0;
  readonly #turns = new Map<TurnId, Span>();
  readonly #open = new Map<string, Span>();
  readonly #waiting = new Map<MessageId, Arrow>();
  readonly #tasks = new Map<TaskId, { producer: SessionId | null; worker: SessionId | null; text: string }>();

  addLane(session: Lane): void {
    if (!this.lanes.has(session.id)) this.lanes.set(session.id, session);
  }

  add(event: Event): void {
    if (event.seq <= this.#last) return;
    this.#last = event.seq;
    this.end = Math.max(this.end, event.at);
    this.#apply(event);
  }

  #apply(event: Event): void {
    const { session, at } = event;
    switch (event.type) {
      case "session.created":
        this.addLane(event.data.session);
        return;
      case "session.renamed":
        this.#rename(session, event.data.handle);
        return;
      case "turn.started": {
        if (session === null) return;
        this.#turns.set(event.data.turn, this.#span(session, at, "turn"));
        for (const id of event.data.messages) this.#take(id, at);
        return;
      }
      case "message.steered":
        this.#take(event.data.message, at);
        return;
      case "turn.ended": {
        const span = this.#turns.get(event.data.turn);
        if (span === undefined) return;
        span.to = at;
        if (event.data.reason !== "completed" && event.data.reason !== "cancelled") span.kind = "failed";
        for (const [key, tool] of this.#open) if (tool.session === span.session) this.#close(key, at);
        return;
      }
      case "turn.tool_call":
        if (session !== null) this.#open.set(`${session} ${event.data.call}`, this.#span(session, at, "tool"));
        return;
      case "turn.tool_result":
        this.#close(`${session} ${event.data.call}`, at);
        return;
      case "ask.opened":
        this.#open.set(event.data.ask.id, this.#span(event.data.ask.session, at, "ask"));
        return;
      case "ask.settled":
        this.#close(event.data.ask, at);
        return;
      case "task.enqueued": {
        const { id, producer, worker, payload } = event.data.task;
        this.#tasks.set(id, { producer, worker, text: payload });
        return;
      }
      case "task.dispatched": {
        const task = this.#tasks.get(event.data.task);
        if (task !== undefined) task.worker = event.data.worker;
        return;
      }
      case "message.admitted":
        this.#admit(event);
        return;
      default:
    }
  }

  #admit({ data: { message }, at }: Extract<Event, { type: "message.admitted" }>): void {
    const { sender } = message;
    let from: SessionId | null = null;
    let kind: ArrowKind = "message";
    if (sender.kind === "agent") from = sender.session;
    else if (sender.kind === "queue") {
      const task = this.#tasks.get(sender.task as TaskId);
      kind = sender.status === null ? "task" : "result";
      from = (sender.status === null ? task?.producer : task?.worker) ?? null;
    } else if (sender.kind === "substrate" && message.body.startsWith("[Subagent Complete]")) {
      kind = "result";
      from = this.#childOf(message.session);
    }
    if (from === null || from === message.session || !this.lanes.has(from)) return;
    const arrow = { key: message.id, from, to: message.session, sent: at, taken: null, kind, text: message.body };
    this.arrows.push(arrow);
    this.#waiting.set(message.id, arrow);
  }

  /** The child whose turn ended last. */
  #childOf(parent: SessionId): SessionId | null {
    const ended = this.spans.filter((span) => span.to !== null && this.lanes.get(span.session)?.parent === parent);
    return (
      ended.reduce<Span | null>((best, span) => ((span.to ?? 0) >= (best?.to ?? 0) ? span : best), null)?.session ??
      null
    );
  }

  #rename(session: SessionId | null, handle: string): void {
    const lane = session === null ? undefined : this.lanes.get(session);
    if (lane !== undefined) this.lanes.set(lane.id, { ...lane, handle });
  }

  #span(session: SessionId, from: number, kind: SpanKind): Span {
    const span: Span = { session, from, to: null, kind };
    this.spans.push(span);
    return span;
  }

  #close(key: string, at: number): void {
    const span = this.#open.get(key);
    if (span !== undefined) span.to = at;
    this.#open.delete(key);
  }

  #take(id: MessageId, at: number): void {
    const arrow = this.#waiting.get(id);
    if (arrow !== undefined) arrow.taken = at;
    this.#waiting.delete(id);
  }
}

/** Lanes that have something to show, each parent before its children. */
export function lanesInOrder(flow: Flow): Lane[] {
  const busy = new Set<SessionId>(flow.spans.map(({ session }) => session));
  for (const { from, to } of flow.arrows) busy.add(from).add(to);
  const lanes = [...flow.lanes.values()].filter(({ id }) => busy.has(id)).sort((a, b) => a.created_at - b.created_at);
  const shown = new Set(lanes.map(({ id }) => id));
  const result: Lane[] = [];
  const visit = (lane: Lane, depth: number): void => {
    result.push({ ...lane, depth });
    for (const child of lanes) if (child.parent === lane.id) visit(child, depth + 1);
  };
  for (const lane of lanes) if (lane.parent === null || !shown.has(lane.parent)) visit(lane, 0);
  return result;
}

export type Segment = { from: number; to: number; folded: boolean; x: number; width: number };

const foldAfter = 120_000;

/** Time and pixels: busy stretches are drawn to scale, long idle gaps have a fixed width. */
export class TimeScale {
  readonly segments: Segment[] = [];
  readonly width: number;

  constructor(spans: readonly Span[], end: number, options: { pixelsPerMs: number; foldWidth: number; fold: boolean }) {
    const { pixelsPerMs, foldWidth, fold } = options;
    const sorted = spans.toSorted((a, b) => a.from - b.from);
    const start = sorted[0]?.from ?? end;
    let [from, to] = [start, start];
    const pieces: Pick<Segment, "from" | "to" | "folded">[] = [];
    const closeAt = (next: number) => {
      if (!fold || next - to <= foldAfter) return;
      pieces.push({ from, to, folded: false }, { from: to, to: next, folded: true });
      from = next;
      to = next;
    };
    for (const span of sorted) {
      if (span.from > to) closeAt(span.from);
      to = Math.max(to, span.to ?? end);
    }
    closeAt(end);
    pieces.push({ from, to: Math.max(end, to, from + 1), folded: false });
    let x = 0;
    for (const piece of pieces) {
      if (piece.to <= piece.from) continue;
      const width = piece.folded ? foldWidth : (piece.to - piece.from) * pixelsPerMs;
      this.segments.push({ ...piece, x, width });
      x += width;
    }
    this.width = x;
  }

  x(time: number): number {
    const segment = this.#find((one) => one.to < time);
    return segment === undefined
      ? 0
      : segment.x + ((time - segment.from) / (segment.to - segment.from)) * segment.width;
  }

  time(x: number): number {
    const segment = this.#find((one) => one.x + one.width < x);
    if (segment === undefined) return 0;
    return segment.from + ((x - segment.x) / (segment.width || 1)) * (segment.to - segment.from);
  }

  /** How many pixels a millisecond takes if everything is to fit. */
  fit(width: number): number {
    const folded = this.segments.filter((one) => one.folded).reduce((sum, one) => sum + one.width, 0);
    const busy = this.segments.filter((one) => !one.folded).reduce((sum, one) => sum + one.to - one.from, 0);
    return Math.max(1e-7, (width - folded) / Math.max(1, busy));
  }

  #find(isBefore: (segment: Segment) => boolean): Segment | undefined {
    let [low, high] = [0, this.segments.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const segment = this.segments[middle];
      if (segment !== undefined && isBefore(segment)) low = middle + 1;
      else high = middle;
    }
    return this.segments[low];
  }
}

const steps = [1e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 1.8e6, 3.6e6, 1.08e7, 8.64e7];

/** The distance between two marks of the axis. */
export function axisStep(pixelsPerMs: number): number {
  return steps.find((step) => step * pixelsPerMs > 90) ?? 8.64e7;
}
