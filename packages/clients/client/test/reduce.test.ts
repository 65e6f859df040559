import { type Event, type EventType, eventSchemas, type NewEvent } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import type { Session } from "@aegis/contract/session.ts";
import { message } from "@aegis/test/helpers/rows.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sessionA, sessionB } from "../../../base/events/test/memory-events.ts";
import { sessionView } from "../../../daemon/http/test/fake-services.ts";
import { applyDelta, reduce } from "../src/reduce.ts";
import { emptyState, type SessionState, type State, withSessions } from "../src/state.ts";

const { pending: _pending, unseen: _unseen, ...view } = sessionView;
const session: Session = view;
const turn = newId("trn", 1);
const first = newId("msg", 1);
const second = newId("msg", 2);
const ask = newId("ask", 1);

function numbered(events: readonly NewEvent[]): Event[] {
  return events.map((event, i): Event => ({ ...event, seq: i + 1, at: 100 + i }));
}

function play(...events: NewEvent[]): State {
  return numbered(events).reduce(reduce, emptyState());
}

function only(state: State): SessionState {
  const found = state.sessions[sessionA];
  if (found === undefined) throw new Error("the session is missing");
  return found;
}

const created: NewEvent = { type: "session.created", session: sessionA, data: { session } };
const admit = (id: typeof first, at = 1): NewEvent => ({
  type: "message.admitted",
  session: sessionA,
  data: { message: message(sessionA, { id, admitted_at: at }) },
});
const started: NewEvent = {
  type: "turn.started",
  session: sessionA,
  data: { turn, messages: [first], spontaneous: false },
};
const ended = (reason: "completed" | "lost"): NewEvent => ({
  type: "turn.ended",
  session: sessionA,
  data: { turn, reason, error: null, text: "done", usage: null },
});
const text: NewEvent = { type: "turn.text", session: sessionA, data: { turn, message: "m", text: "hello world" } };

test("a session lives: created, renamed, titled, at work, closed", () => {
  const state = play(
    created,
    { type: "session.renamed", session: sessionA, data: { handle: "new-name", before: "lucid-hertz" } },
    { type: "session.titled", session: sessionA, data: { title: "Fix it", source: "human" } },
    { type: "session.state", session: sessionA, data: { state: "error", error: "no key" } },
    { type: "session.notice", session: sessionA, data: { level: "warning", text: "careful" } },
    admit(first),
    { type: "session.closed", session: sessionA, data: { reason: "done", refused: [first] } },
  );
  expect(state.last_seq).toBe(7);
  expect(only(state)).toMatchObject({
    handle: "new-name",
    title: "Fix it",
    title_source: "human",
    state: "closed",
    error: "no key",
    closed_at: 106,
    pending: [],
    notices: [{ text: "careful", at: 104 }],
  });
  expect(only(state).messages[first]?.status).toBe("refused");
});

test("a turn takes its messages, collects items and ends", () => {
  const state = play(created, admit(first), admit(second, 2), started, text, ended("completed"));
  const { turns, pending, messages } = only(state);
  expect(pending).toEqual([second]);
  expect(messages[first]).toMatchObject({ status: "done", turn });
  expect(turns).toMatchObject([
    { id: turn, messages: [first], reason: "completed", text: "done", started_at: 103, ended_at: 105 },
  ]);
  expect(turns[0]?.items).toEqual([{ type: "text", seq: 5, at: 104, data: { message: "m", text: "hello world" } }]);
});

test("messages of a lost turn wait for word of their own, and go back to their place", () => {
  const lost = [created, admit(first), admit(second, 2), started, ended("lost")];
  expect(only(play(...lost)).messages[first]?.status).toBe("dispatched");
  const again = play(...lost, { type: "message.redelivered", session: sessionA, data: { message: first } });
  expect(only(again).pending).toEqual([first, second]);
  const gone = play(...lost, { type: "message.lost", session: sessionA, data: { message: first, reason: "crash" } });
  expect([only(gone).pending, only(gone).messages[first]?.status]).toEqual([[second], "lost"]);
  const taken = play(created, admit(first), { type: "message.cancelled", session: sessionA, data: { message: first } });
  expect([only(taken).pending, only(taken).messages[first]?.status]).toEqual([[], "cancelled"]);
});

test("asks wait until they are settled", () => {
  const opened: NewEvent = {
    type: "ask.opened",
    session: sessionA,
    data: {
      ask: {
        id: ask,
        session: sessionA,
        kind: "question",
        question: "which?",
        tool: null,
        detail: null,
        reason: null,
        gate: false,
        changes: [],
        cwd: null,
        origin: null,
        omitted: 0,
        options: [],
        digest: "d",
        status: "open",
        answer: null,
        created_at: 1,
        expires_at: 2,
        settled_at: null,
        settled_by: null,
        settled_reason: null,
      },
    },
  };
  const settled: NewEvent = { type: "ask.settled", session: sessionA, data: { ask, status: "expired", answer: null } };
  expect(only(play(created, opened)).asks).toMatchObject([{ id: ask }]);
  expect(only(play(created, opened, settled)).asks).toEqual([]);
});

test("deltas show text until the whole of it comes", () => {
  const delta = { type: "text", session: sessionA, turn, message: "m", offset: 0, text: "hello " } as const;
  let state = play(created, started);
  state = applyDelta(applyDelta(state, delta), { ...delta, offset: 6, text: "wor" });
  expect(only(state).turns[0]?.writing).toEqual({ m: { type: "text", text: "hello wor" } });
  expect(applyDelta(state, { ...delta, offset: 12, text: "d" })).toBe(state);
  state = reduce(state, { ...text, seq: 3, at: 1 });
  expect(only(state).turns[0]?.writing).toEqual({});
  const over = reduce(applyDelta(state, { ...delta, message: "n" }), { ...ended("completed"), seq: 4, at: 1 });
  expect(only(over).turns[0]?.writing).toEqual({});
  expect(applyDelta(over, delta)).toBe(over);
  expect(applyDelta(over, { ...delta, session: sessionB })).toBe(over);
});

test("a client that starts late knows listed sessions and meets turns midway", () => {
  const state = withSessions(emptyState(50), [session]);
  const next = reduce(state, { ...text, seq: 51, at: 7 });
  expect(only(next).turns).toMatchObject([{ id: turn, started_at: 7, items: [{ seq: 51 }] }]);
  const unknown: NewEvent = { type: "session.titled", session: sessionB, data: { title: "x", source: null } };
  expect(reduce(next, { ...unknown, seq: 52, at: 8 })).toEqual({ ...next, last_seq: 52 });
});

test("taking events twice changes nothing, and no state is changed in place", () => {
  const events = numbered([created, admit(first), admit(second, 2), started, text, ended("lost")]);
  fc.assert(
    fc.property(fc.array(fc.nat(5)), (repeats) => {
      let state = emptyState();
      const frozen: [State, string][] = [];
      for (const [i, event] of events.entries()) {
        frozen.push([state, JSON.stringify(state)]);
        state = reduce(state, event);
        for (const earlier of repeats.filter((repeat) => repeat <= i)) {
          expect(reduce(state, events[earlier] ?? event)).toBe(state);
        }
      }
      for (const [kept, snapshot] of frozen) expect(JSON.stringify(kept)).toBe(snapshot);
      expect(state).toEqual(events.reduce(reduce, emptyState()));
    }),
  );
});

test("an event type this client does not know is passed over", () => {
  const types = Object.keys(eventSchemas) as EventType[];
  expect(types).not.toContain("session.teleported");
  const foreign = { type: "session.teleported", session: sessionA, data: {}, seq: 2, at: 1 } as unknown as Event;
  const state = play(created);
  expect(reduce(state, foreign)).toEqual({ ...state, last_seq: 2 });
});
