/**
 * A store whose event log and answers never hold the value of a known secret. Messages reach their agents unchanged, and
 * a person sees what an ask would really do.
 */
import type { Redact } from "../lib/redact.ts";
import type { EventTable, FiringTable, RunTable, StepTable, Store, StoreTx, TurnTable } from "./store.ts";

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
    append: (event, at) => tx.events.append({ ...event, data: redacted(event.data, redact) } as typeof event, at),
  };
  const turns: TurnTable = {
    get: (id) => tx.turns.get(id),
    list: (session, limit, until) => tx.turns.list(session, limit, until),
    open: () => tx.turns.open(),
    countEndedAfter: (session, seq) => tx.turns.countEndedAfter(session, seq),
    insert: (turn) => tx.turns.insert(turn),
    accept: (id) => tx.turns.accept(id),
    spend: (id, usage) => tx.turns.spend(id, usage),
    end: (id, end) => tx.turns.end(id, redacted(end, redact)),
  };
  const runs: RunTable = {
    get: (id) => tx.runs.get(id),
    list: (filter) => tx.runs.list(filter),
    unfinished: () => tx.runs.unfinished(),
    endingWith: (text, limit) => tx.runs.endingWith(text, limit),
    hold: (id) => tx.runs.hold(id),
    insert: (run) => tx.runs.insert(run),
    update: (id, change) => tx.runs.update(id, change),
    renew: (owner, until) => tx.runs.renew(owner, until),
    end: (id, end) => tx.runs.end(id, redacted(end, redact)),
  };
  // Results stay as they are: a run that is taken up again must find what it had.
  const steps: StepTable = {
    list: (run, filter) => tx.steps.list(run, filter),
    countEnded: (run) => tx.steps.countEnded(run),
    sessions: (run, filter) => tx.steps.sessions(run, filter),
    straySessions: () => tx.steps.straySessions(),
    remove: (run, from) => tx.steps.remove(run, from),
    copy: (from, to, epochs) => tx.steps.copy(from, to, epochs),
    insert: (step) => tx.steps.insert({ ...step, label: redact(step.label), error: redacted(step.error, redact) }),
    end: (name, end) => tx.steps.end(name, { ...end, error: redacted(end.error, redact) }),
  };
  const firings: FiringTable = {
    get: (id) => tx.firings.get(id),
    atSlot: (schedule, slot) => tx.firings.atSlot(schedule, slot),
    list: (filter) => tx.firings.list(filter),
    unfinished: (schedule) => tx.firings.unfinished(schedule),
    last: (schedule) => tx.firings.last(schedule),
    schedules: () => tx.firings.schedules(),
    insert: (firing) => tx.firings.insert(firing),
    update: (id, change) => tx.firings.update(id, change),
    end: (id, end) => tx.firings.end(id, redacted(end, redact)),
  };
  return { ...tx, turns, events, runs, steps, firings };
}

/** Only inside strings: a secret of digits must not tear a number apart. */
function redacted<T>(value: T, redact: Redact): T {
  let found = false;
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== "string") return item;
    const clean = redact(item);
    found ||= clean !== item;
    return clean;
  });
  return found ? (JSON.parse(text) as T) : value;
}
