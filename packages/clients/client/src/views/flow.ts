/** Who sent what to whom: the messages between people, sessions, queues and workflows, as lanes over time. */
import type { Event } from "@aegis/contract/event.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { State } from "../state.ts";
import { handleOf } from "./dashboard.ts";

export type Hop = {
  readonly seq: number;
  readonly at: number;
  /** Names of lanes. */
  readonly from: string;
  readonly to: string;
  /** `message`, `handoff`, `result`, `task`, `run`, `ask`, `spawn`, `broadcast`. */
  readonly label: string;
  readonly text: string;
  /** The session to open for it. */
  readonly session: string | null;
};

const mostHops = 200;
const you = "you";

/** The hops after an event; oldest first. `state` is the state that names the sessions. */
export function reduceFlow(hops: readonly Hop[], event: Event, state: State): readonly Hop[] {
  const last = hops.at(-1);
  if (last !== undefined && event.seq <= last.seq) return hops;
  const hop = hopOf(event, state);
  return hop === null ? hops : [...hops, { seq: event.seq, at: event.at, ...hop }].slice(-mostHops);
}

function hopOf(event: Event, state: State): Omit<Hop, "seq" | "at"> | null {
  switch (event.type) {
    case "message.admitted": {
      const { message } = event.data;
      const to = handleOf(state, message.session);
      return { ...sender(message.sender), to, text: message.body, session: message.session };
    }
    case "task.enqueued": {
      const { task } = event.data;
      const from = task.producer === null ? you : handleOf(state, task.producer);
      return { from, to: task.queue, label: "task", text: task.payload, session: task.producer };
    }
    case "run.started": {
      const { host, workflow, args } = event.data;
      const from = host === null ? you : handleOf(state, host);
      return { from, to: workflow, label: "run", text: JSON.stringify(args), session: host };
    }
    case "ask.opened": {
      const { ask } = event.data;
      return { from: handleOf(state, ask.session), to: you, label: "ask", text: ask.question, session: ask.session };
    }
    case "subagent.spawned": {
      const { subagent } = event.data;
      const [from, to] = [handleOf(state, subagent.parent), handleOf(state, subagent.session)];
      return { from, to, label: "spawn", text: subagent.task, session: subagent.session };
    }
    default:
      return null;
  }
}

function sender(from: Sender): { from: string; label: string } {
  switch (from.kind) {
    case "human":
      return { from: you, label: "message" };
    case "agent":
      return { from: from.handle, label: "handoff" };
    case "queue":
      return { from: from.name, label: from.status === null ? "task" : "result" };
    case "workflow":
      return { from: from.name, label: from.status === null ? "message" : "result" };
    case "schedule":
      return { from: from.name, label: "schedule" };
    case "group":
      return { from: from.group, label: "broadcast" };
    case "channel":
      return { from: from.name, label: "message" };
    case "telegram":
      return { from: "telegram", label: "message" };
    default:
      return { from: "aegis", label: "notice" };
  }
}

/** The lanes of the newest hops, most recently used last dropped; the person comes first. */
export function lanesOf(hops: readonly Hop[], most: number): string[] {
  const used = new Set<string>();
  for (const hop of hops.toReversed()) {
    for (const name of [hop.from, hop.to]) if (used.size < most || used.has(name)) used.add(name);
  }
  const inOrder = new Set(hops.flatMap(({ from, to }) => [from, to]));
  const lanes = [...inOrder].filter((name) => used.has(name));
  return lanes.includes(you) ? [you, ...lanes.filter((name) => name !== you)] : lanes;
}
