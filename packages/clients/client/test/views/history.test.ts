import type { Event } from "@aegis/contract/event.ts";
import { newId, type TurnId } from "@aegis/contract/ids.ts";
import { message, sessionRow } from "@aegis/test/helpers/rows.ts";
import { describe, expect, it } from "vitest";
import { reduce } from "../../src/reduce.ts";
import { emptyState, withSessions } from "../../src/state.ts";
import { trimSession, trimWindow, withEvent, withPage, withWindow } from "../../src/views/history.ts";

const session = sessionRow();
const sent = message(session.id, { admitted_at: 1 });
const turn = newId("trn", 1);

function event(seq: number, type: Event["type"], data: object): Event {
  return { seq, at: seq, type, session: session.id, data } as Event;
}

const text = (seq: number, of: TurnId = turn) =>
  event(seq, "turn.text", { turn: of, message: `m${seq}`, text: `text ${seq}` });
const all = [
  event(1, "message.admitted", { message: sent }),
  event(2, "turn.started", { turn, messages: [sent.id], spontaneous: false }),
  ...Array.from({ length: 20 }, (_, index) => text(index + 3)),
  event(23, "turn.ended", { turn, reason: "completed", error: null, text: "text 22", usage: null }),
];
const start = () => withSessions(emptyState(), [session]);
const whole = all.reduce(reduce, start()).sessions[session.id];

describe("a window of a session's history", () => {
  it("gives the same turns page by page as all events at once", () => {
    let window = withPage(undefined, all.slice(15), true);
    let state = withWindow({ ...start(), last_seq: 23 }, session.id, window);
    expect(state.sessions[session.id]?.turns[0]?.messages).toEqual([]);
    window = withPage(window, all.slice(5, 18), true);
    window = withPage(window, all.slice(0, 5), false);
    state = withWindow(state, session.id, window);
    expect(window.events.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq));
    expect(window.more).toBe(false);
    expect(state.sessions[session.id]?.turns).toEqual(whole?.turns);
    expect(state.sessions[session.id]?.pending).toEqual([]);
  });

  it("adds each live event once", () => {
    const window = withPage(undefined, all.slice(0, 5), false);
    const next = withEvent(withEvent(window, text(6)), text(6));
    expect(next.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("keeps a message that waits although its admission is older than the window", () => {
    const waiting = event(1, "message.admitted", { message: sent });
    const state = withWindow(reduce(start(), waiting), session.id, withPage(undefined, [], true));
    expect(state.sessions[session.id]?.pending).toEqual([sent.id]);
  });

  it("has the messages of its turns that were admitted before it, also after it moved on", () => {
    const window = withPage(undefined, all.slice(1), true);
    const first = withWindow({ ...start(), last_seq: 23 }, session.id, window, [{ ...sent, status: "done", turn }]);
    expect(first.sessions[session.id]?.messages[sent.id]).toMatchObject({ status: "done" });
    expect(first.sessions[session.id]?.pending).toEqual([]);
    const next = withWindow(first, session.id, withEvent(window, text(24, newId("trn", 2))));
    expect(next.sessions[session.id]?.messages[sent.id]).toMatchObject({ id: sent.id });
    const moved = withWindow(next, session.id, { events: [text(24, newId("trn", 2))], more: true });
    expect(moved.sessions[session.id]?.messages).toEqual({});
  });

  it("can be trimmed, and says that there is more", () => {
    const window = trimWindow(withPage(undefined, all, false), 5);
    expect([window.events.length, window.more]).toEqual([5, true]);
    const state = all.reduce(reduce, start());
    const trimmed = trimSession(state, session.id, { turns: 1, items: 5 }).sessions[session.id];
    expect(trimmed?.turns.map(({ items }) => items.length)).toEqual([5]);
  });
});
