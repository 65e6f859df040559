/**
 * The flow of a team: one lane per session, spans of work in it, and what was sent: arrows from session to session, and
 * hops between all that send and receive, also people, queues and workflows.
 */
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { MessageId, SessionId, TaskId, TurnId } from "@aegis/contract/ids.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { Session } from "@aegis/contract/session.ts";
import { shortId } from "../views/words.ts";

export type Lane = Pick<Session, "id" | "handle" | "agent" | "parent" | "created_at"> & { depth: number };
export type SpanKind = "turn" | "tool" | "ask" | "failed";
export type FlowSpan = { session: SessionId; from: number; to: number | null; kind: SpanKind };
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

export type Hop = {
  readonly seq: number;
  readonly at: number;
  /** Handles of sessions, names of queues, workflows and schedules, or `you`. */
  readonly from: string;
  readonly to: string;
  /** `message`, `handoff`, `result`, `task`, `run`, `ask`, `spawn`, `broadcast`. */
  readonly label: string;
  readonly text: string;
  /** The session to open for it. */
  readonly session: SessionId | null;
};

const you = "you";
const mostHops = 200;
/** A client may be open for weeks. */
const mostSpans = 50_000;
const mostArrows = 10_000;

export class Flow {
  readonly lanes = new Map<SessionId, Lane>();
  spans: FlowSpan[] = [];
  arrows: Arrow[] = [];
  /** Oldest first; another array after each hop. */
  hops: readonly Hop[] = [];
  /** The time of the newest event. */
  end = 0;
  #last = 0;
  readonly #turns = new Map<TurnId, FlowSpan>();
  readonly #open = new Map<string, FlowSpan>();
  readonly #waiting = new Map<MessageId, Arrow>();
  readonly #tasks = new Map<TaskId, { producer: SessionId | null; worker: SessionId | null }>();

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
        this.#hop(event, {
          from: this.#name(event.data.ask.session),
          to: you,
          label: "ask",
          text: event.data.ask.question,
          session: event.data.ask.session,
        });
        return;
      case "ask.settled":
        this.#close(event.data.ask, at);
        return;
      case "task.enqueued": {
        const { id, queue, producer, worker, payload } = event.data.task;
        this.#tasks.set(id, { producer, worker });
        this.#hop(event, { from: this.#name(producer), to: queue, label: "task", text: payload, session: producer });
        return;
      }
      case "run.started": {
        const { host, workflow, args } = event.data;
        const text = JSON.stringify(args);
        this.#hop(event, { from: this.#name(host), to: workflow, label: "run", text, session: host });
        return;
      }
      case "subagent.spawned": {
        const { parent, session: child, task } = event.data.subagent;
        const [from, to] = [this.#name(parent), this.#name(child)];
        this.#hop(event, { from, to, label: "spawn", text: task, session: child });
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

  #admit(event: EventOf<"message.admitted">): void {
    const { message } = event.data;
    const { sender, session, body } = message;
    this.#hop(event, { ...origin(sender), to: this.#name(session), text: body, session });
    let from: SessionId | null = null;
    let kind: ArrowKind = "message";
    if (sender.kind === "agent") from = sender.session;
    else if (sender.kind === "queue") {
      const task = this.#tasks.get(sender.task as TaskId);
      kind = sender.status === null ? "task" : "result";
      from = (sender.status === null ? task?.producer : task?.worker) ?? null;
    } else if (sender.kind === "substrate" && message.body.startsWith("[Subagent Complete]")) {
      kind = "result";
      from = this.#childOf(session);
    }
    if (from === null || from === session || !this.lanes.has(from)) return;
    const arrow = { key: message.id, from, to: session, sent: event.at, taken: null, kind, text: body };
    this.arrows.push(arrow);
    if (this.arrows.length > 2 * mostArrows) this.arrows = this.arrows.slice(-mostArrows);
    this.#waiting.set(message.id, arrow);
  }

  /** The child whose turn ended last. */
  #childOf(parent: SessionId): SessionId | null {
    const ended = this.spans.filter((span) => span.to !== null && this.lanes.get(span.session)?.parent === parent);
    return (
      ended.reduce<FlowSpan | null>((best, span) => ((span.to ?? 0) >= (best?.to ?? 0) ? span : best), null)?.session ??
      null
    );
  }

  #hop({ seq, at }: Event, hop: Omit<Hop, "seq" | "at">): void {
    this.hops = [...this.hops, { seq, at, ...hop }].slice(-mostHops);
  }

  #name(session: SessionId | null): string {
    return session === null ? you : (this.lanes.get(session)?.handle ?? shortId(session));
  }

  #rename(session: SessionId | null, handle: string): void {
    const lane = session === null ? undefined : this.lanes.get(session);
    if (lane !== undefined) this.lanes.set(lane.id, { ...lane, handle });
  }

  #span(session: SessionId, from: number, kind: SpanKind): FlowSpan {
    const span: FlowSpan = { session, from, to: null, kind };
    this.spans.push(span);
    if (this.spans.length > 2 * mostSpans) this.spans = this.spans.slice(-mostSpans);
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

function origin(sender: Sender): { from: string; label: string } {
  switch (sender.kind) {
    case "human":
      return { from: you, label: "message" };
    case "agent":
      return { from: sender.handle, label: "handoff" };
    case "queue":
      return { from: sender.name, label: sender.status === null ? "task" : "result" };
    case "workflow":
      return { from: sender.name, label: sender.status === null ? "message" : "result" };
    case "schedule":
      return { from: sender.name, label: "schedule" };
    case "group":
      return { from: sender.group, label: "broadcast" };
    case "channel":
      return { from: sender.name, label: "message" };
    default:
      return { from: "aegis", label: "notice" };
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
