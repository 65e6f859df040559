import { newId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { anAsk } from "@aegis/test/helpers/asks.ts";
import { describe, expect, it } from "vitest";
import { sessionView } from "../../../../daemon/http/test/fake-services.ts";
import {
  applyDelta,
  applyEvent,
  columns,
  emptyBoard,
  withAsks,
  withoutOldClosed,
  withPast,
  withSession,
} from "../../src/model/board.ts";
import { event, session, turn } from "./events.ts";

describe("the board", () => {
  const view = (id: SessionView["id"], more: Partial<SessionView>): SessionView => ({ ...sessionView, id, ...more });

  it("puts asks first, then errors, then what works, then the rest", () => {
    const [asks, broken, works, idle] = [1, 2, 3, 4].map((at) => newId("ses", at));
    if (!asks || !broken || !works || !idle) throw new Error("unreachable");
    let board = emptyBoard;
    for (const one of [
      view(idle, {}),
      view(works, { state: "working" }),
      view(broken, { state: "error", error: "x" }),
      view(asks, { state: "working" }),
    ])
      board = withSession(board, one);
    board = withAsks(board, [anAsk({ session: asks })]);
    const found = columns(board);
    expect(found.needs.map(({ id }) => id)).toEqual([asks, broken]);
    expect(found.working.map(({ id }) => id)).toEqual([works]);
    expect(found.done.map(({ id }) => id)).toEqual([idle]);
  });

  it("says what a session does, and drops it at the end of the turn; twice is once", () => {
    const call = event("turn.tool_call", { turn, call: "1", name: "Edit", kind: "edit", title: "a.ts", locations: [] });
    const end = event("turn.ended", { turn, reason: "completed", text: "Done.", error: null, usage: null });
    let board = applyEvent(withSession(emptyBoard, view(session, { state: "working" })), call);
    expect(board.cards[session]?.doing).toEqual({ words: "edits a.ts", call: "1" });
    board = applyEvent(board, event("turn.tool_result", { turn, call: "0" }));
    expect(board.cards[session]?.doing?.words).toBe("edits a.ts");
    board = applyEvent(board, event("turn.tool_result", { turn, call: "1" }));
    expect(board.cards[session]?.doing?.words).toBe("thinks");
    board = applyDelta(board, { type: "text", session, turn, message: "m", offset: 0, text: "D" });
    expect(board.cards[session]?.doing?.words).toBe("writes");
    board = applyEvent(applyEvent(board, end), end);
    expect(board.cards[session]).toMatchObject({ doing: null, last: { text: "Done." }, said: "Done." });
  });

  it("adds up what turns cost, each once", () => {
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 2, cost: 0.5 };
    const end = event("turn.ended", { turn, reason: "completed", text: "", error: null, usage });
    let board = applyEvent(withSession(emptyBoard, view(session, {})), end);
    board = applyEvent(board, end);
    expect(board.cards[session]?.usage).toMatchObject({ cost: 0.5, output: 2, turns: 1, cost_unknown: 0 });
    const next = event("turn.ended", {
      turn,
      reason: "completed",
      text: "",
      error: null,
      usage: { ...usage, cost: null },
    });
    board = applyEvent(board, next);
    expect(board.cards[session]?.usage).toMatchObject({ cost: 0.5, output: 4, turns: 2, cost_unknown: 1 });
  });

  it("learns from a page of history what a session did before, and keeps what is newer", () => {
    const said = event("turn.text", { turn, message: "m", text: "I read it." });
    const call = event("turn.tool_call", {
      turn,
      call: "1",
      name: "bash",
      kind: "execute",
      input: { command: "make" },
    });
    const known = withSession(emptyBoard, view(session, { state: "working" }));
    const board = withPast(known, session, [said, call]);
    expect(board.cards[session]).toMatchObject({ doing: { words: "runs make" }, said: "I read it." });
    const newer = applyEvent(known, event("turn.text", { turn, message: "m2", text: "I wrote it." }));
    expect(withPast(newer, session, [said, call]).cards[session]).toMatchObject({
      doing: { words: "thinks" },
      said: "I wrote it.",
    });
  });
});

it("a card follows what its session changed, in total", () => {
  const board = withSession(emptyBoard, { ...sessionView, id: session });
  const total = { files: 2, added: 3, deleted: 1 };
  const changed = applyEvent(board, event("changes.recorded", { turn, ...total, files: 1, total }));
  expect(changed.cards[session]?.changes).toEqual(total);
});

describe("the cards of closed sessions", () => {
  const closed = Array.from({ length: 450 }, (_, index) => newId("ses", index + 1));

  it("are bounded, newest first, and those with an open ask stay", () => {
    let board = withSession(emptyBoard, { ...sessionView, id: session, model: "large" });
    for (const [at, id] of closed.entries())
      board = withSession(board, { ...sessionView, id, state: "closed", closed_at: at });
    const [oldest = session] = closed;
    board = withoutOldClosed(withAsks(board, [anAsk({ session: oldest })]));
    expect(new Set(Object.keys(board.cards))).toEqual(new Set([session, oldest, ...closed.slice(-200)]));
    expect(board.cards[session]?.model).toBe("large");
    expect(withoutOldClosed(board)).toBe(board);
  });
});
