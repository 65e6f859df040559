/** A store whose event log never holds the value of a known secret. Messages reach their agents unchanged. */
import type { NewEvent } from "../contract/event.ts";
import type { Redact } from "../lib/redact.ts";
import type { EventTable, Store, StoreTx } from "./store.ts";

/** `redact` is asked for at each write, because a new configuration may bring new secrets. */
export function redactingStore(store: Store, redact: () => Redact): Store {
  return {
    read: store.read,
    transact: (unit) => store.transact((tx) => unit(redactingTx(tx, redact()))),
    onCommit: (listener) => store.onCommit(listener),
    health: () => store.health(),
    close: () => store.close(),
  };
}

function redactingTx(tx: StoreTx, redact: Redact): StoreTx {
  const events: EventTable = {
    list: (query) => tx.events.list(query),
    lastSeq: () => tx.events.lastSeq(),
    append: (event, at) => tx.events.append(redacted(event, redact), at),
  };
  return { sessions: tx.sessions, messages: tx.messages, turns: tx.turns, seen: tx.seen, asks: tx.asks, events };
}

function redacted(event: NewEvent, redact: Redact): NewEvent {
  const text = JSON.stringify(event.data);
  const clean = redact(text);
  return clean === text ? event : ({ ...event, data: JSON.parse(clean) } as NewEvent);
}
