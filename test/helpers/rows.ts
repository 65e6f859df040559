/** Rows as they are when nothing has happened to them yet; `change` says what matters to the test. */
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Task } from "@aegis/contract/task.ts";
import type { SessionRow, TurnRow } from "@aegis/store/store.ts";

export function sessionRow(change: Partial<SessionRow> = {}): SessionRow {
  const id = newId("ses", 1_000);
  return {
    id,
    handle: id,
    agent: "echo",
    harness: "scripted",
    offline: true,
    title: "",
    title_source: null,
    state: "ready",
    error: null,
    parent: null,
    depth: 0,
    ask_policy: "wait",
    created_at: 1_000,
    closed_at: null,
    resume: null,
    limits: null,
    started_by: null,
    root: null,
    forked_from: null,
    fork_point: null,
    ...change,
  };
}

export function message(session: SessionId, change: Partial<Message> = {}): Message {
  const id = change.id ?? newId("msg", 1_000);
  return {
    id,
    session,
    sender: { kind: "human" },
    body: "hello",
    sent: null,
    attachments: [],
    status: "pending",
    chain: id,
    hops: 0,
    admitted_at: 1_000,
    turn: null,
    ...change,
  };
}

export function turnRow(session: SessionId, change: Partial<TurnRow> = {}): TurnRow {
  return {
    id: newId("trn", 1_000),
    session,
    started_at: 1_000,
    ended_at: null,
    reason: null,
    error: null,
    text: "",
    usage: null,
    accepted: false,
    handed_over: [],
    ...change,
  };
}

export function task(change: Partial<Task> = {}): Task {
  return {
    id: newId("tsk", 1_000),
    queue: "work",
    payload: "do it",
    status: "pending",
    producer: null,
    starter: null,
    callback: true,
    chain: null,
    hops: 0,
    attempts: 0,
    failures: 0,
    worker: null,
    result: null,
    error: null,
    enqueued_at: 1_000,
    not_before: null,
    dispatched_at: null,
    ended_at: null,
    ...change,
  };
}
