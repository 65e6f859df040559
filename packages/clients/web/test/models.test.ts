/** The pure models of the web app. */

import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { anAsk } from "@aegis/test/helpers/asks.ts";
import { describe, expect, it } from "vitest";
import { sessionView } from "../../../daemon/http/test/fake-services.ts";
import { Batches } from "../src/model/batches.ts";
import { applyEvent, columns, emptyBoard, withAsks, withoutOldClosed, withSession } from "../src/model/board.ts";
import { diffOf, spansOf } from "../src/model/diff-lines.ts";
import { Flow, lanesInOrder, TimeScale } from "../src/model/flow.ts";
import { age, count, duration, money, oneLine } from "../src/model/format.ts";
import { Heights } from "../src/model/heights.ts";
import { misleadingHost, safeHref } from "../src/model/links.ts";
import { piecesOf } from "../src/model/syntax.ts";
import { Transcript } from "../src/model/transcript.ts";

const session = newId("ses", 1);
const turn = newId("trn", 1);
const message = newId("msg", 1);
let seq = 0;

/** An event of the session; its time is its number in seconds. */
function event(type: Event["type"], data: unknown, of = session): Event {
  seq += 1;
  return { seq, at: seq * 1_000, type, session: of, data } as Event;
}

const aMessage = (id = message, more = {}) => ({
  id,
  session,
  sender: { kind: "human" },
  body: "hi",
  sent: null,
  attachments: [],
  status: "pending",
  chain: id,
  hops: 0,
  admitted_at: 1,
  turn: null,
  ...more,
});

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
    const call = event("turn.tool_call", { turn, call: "1", name: "Edit", title: "Edit a.ts" });
    const end = event("turn.ended", { turn, reason: "completed", text: "Done.", error: null, usage: null });
    let board = applyEvent(withSession(emptyBoard, view(session, { state: "working" })), call);
    expect(board.cards[session]?.doing).toBe("Edit a.ts");
    board = applyEvent(applyEvent(board, end), end);
    expect(board.cards[session]).toMatchObject({ doing: null, last: { text: "Done." } });
  });
});

it("items of the stream wait for the frame of a key, but not for ever", () => {
  const frames: (() => void)[] = [];
  const taken: number[][] = [];
  const batches = new Batches<number>(
    (items) => taken.push([...items]),
    (run) => frames.push(run),
  );
  const frame = () => frames.shift()?.();
  batches.add(1);
  batches.add(2);
  expect(frames).toHaveLength(1);
  frame();
  expect(taken).toEqual([[1, 2]]);
  batches.add(3);
  batches.typed();
  frame();
  batches.add(4);
  expect(taken).toHaveLength(1);
  frame();
  expect(taken[1]).toEqual([3, 4]);
  batches.add(5);
  let shown = 0;
  for (; taken.length === 2 && shown < 20; shown++) {
    batches.typed();
    frame();
  }
  expect([shown, taken[2]]).toEqual([5, [5]]);
  expect(frames).toEqual([]);
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

describe("a transcript", () => {
  const events = () => [
    event("message.admitted", { message: aMessage() }),
    event("turn.started", { turn, messages: [message], spontaneous: false }),
    event("turn.tool_call", {
      turn,
      call: "c",
      name: "Read",
      kind: "read",
      title: "Read a",
      input: {},
      locations: [],
      diff: null,
      parent: null,
    }),
    event("turn.tool_result", { turn, call: "c", output: "ok", is_error: false, diff: null }),
    event("turn.text", { turn, message: "m", text: "Hello." }),
    event("turn.ended", { turn, reason: "completed", error: null, text: "Hello.", usage: null }),
  ];

  it("has one row for each item, and takes an event once", () => {
    const transcript = new Transcript();
    for (const one of events()) {
      transcript.add(one);
      transcript.add(one);
    }
    expect(transcript.rows.map(({ body }) => body.kind)).toEqual(["message", "turn", "tool", "text"]);
    expect(transcript.rows[1]?.body).toMatchObject({ reason: "completed" });
    expect(transcript.rows[2]?.body).toMatchObject({ result: { output: "ok" } });
  });

  it("shows a message that was admitted before the page, and forgets messages with their rows", () => {
    const transcript = new Transcript();
    const waiting = newId("msg", 2);
    transcript.addMessages([aMessage(message, { status: "done" }), aMessage(waiting)] as never);
    for (const one of events().slice(1)) transcript.add(one);
    expect(transcript.rows[0]?.body).toMatchObject({ kind: "message", message: { id: message } });
    expect(transcript.trim(1)).toBe(3);
    expect([transcript.message(message), transcript.message(waiting)?.status]).toEqual([undefined, "pending"]);
  });

  it.each([1, 2, 3, 4, 5])("reads the same from two pages, cut after event %i", (cut) => {
    const all = events();
    const transcript = new Transcript();
    transcript.addMessages([aMessage() as never]);
    for (const one of all.slice(cut)) transcript.add(one);
    transcript.addOlder(all.slice(0, cut));
    expect(transcript.rows.map(({ body }) => body.kind)).toEqual(["message", "turn", "tool", "text"]);
    expect(transcript.rows[1]?.body).toMatchObject({ reason: "completed" });
    expect(transcript.rows[2]?.body).toMatchObject({ result: { output: "ok" } });
  });

  it("streams text into one row, which the whole text replaces", () => {
    const transcript = new Transcript();
    const delta = { type: "text" as const, session, turn, message: "m" };
    transcript.addDelta({ ...delta, offset: 0, text: "Hel" });
    transcript.addDelta({ ...delta, offset: 3, text: "lo." });
    expect(transcript.rows).toHaveLength(1);
    expect(transcript.rows[0]?.body).toMatchObject({ parts: ["Hel", "lo."], live: true });
    transcript.add(event("turn.text", { turn, message: "m", text: "Hello." }));
    expect(transcript.rows.map(({ body }) => body)).toEqual([{ kind: "text", parts: ["Hello."], live: false }]);
  });

  it("lists waiting messages until they are taken or cancelled, and keeps a bound", () => {
    const transcript = new Transcript();
    const other = newId("msg", 2);
    transcript.add(event("message.admitted", { message: aMessage() }));
    transcript.add(event("message.admitted", { message: aMessage(other, { admitted_at: 2 }) }));
    expect(transcript.waiting().map(({ id }) => id)).toEqual([message, other]);
    transcript.add(event("message.cancelled", { message: other }));
    transcript.add(event("turn.started", { turn, messages: [message], spontaneous: false }));
    expect(transcript.waiting()).toEqual([]);
    for (let index = 0; index < 50; index++) transcript.add(event("turn.notice", { turn, level: "info", text: "x" }));
    expect(transcript.trim(10)).toBe(42);
    expect(transcript.rows).toHaveLength(10);
  });
});

describe("the flow", () => {
  it("draws a message from its sender to its receiver, and orders children below their parent", () => {
    const flow = new Flow();
    const [a, b, c] = [newId("ses", 11), newId("ses", 12), newId("ses", 13)];
    const lane = (id: typeof a, handle: string, parent: typeof a | null, created_at: number) =>
      flow.addLane({ id, handle, agent: "dev", parent, created_at, depth: 0 });
    lane(a, "one", null, 1);
    lane(b, "two", null, 2);
    lane(c, "child", a, 3);
    const sent = aMessage(newId("msg", 9), { session: b, sender: { kind: "agent", session: a, handle: "one" } });
    for (const of of [a, c]) {
      const id = newId("trn", 20 + seq);
      flow.add(event("turn.started", { turn: id, messages: [], spontaneous: false }, of));
      flow.add(event("turn.ended", { turn: id, reason: "completed" }, of));
    }
    flow.add(event("message.admitted", { message: sent }, b));
    flow.add(event("turn.started", { turn: newId("trn", 99), messages: [sent.id], spontaneous: false }, b));
    expect(flow.arrows).toMatchObject([{ from: a, to: b, kind: "message" }]);
    expect(flow.arrows[0]?.taken).toBeGreaterThan(flow.arrows[0]?.sent ?? 0);
    expect(lanesInOrder(flow).map(({ handle, depth }) => [handle, depth])).toEqual([
      ["one", 0],
      ["child", 1],
      ["two", 0],
    ]);
  });

  it("folds long gaps and maps times back and forth", () => {
    const span = (from: number, to: number) => ({ session, from, to, kind: "turn" as const });
    const scale = new TimeScale([span(0, 10_000), span(3_600_000, 3_620_000)], 3_620_000, {
      pixelsPerMs: 0.01,
      foldWidth: 36,
      fold: true,
    });
    expect(scale.segments.map(({ folded }) => folded)).toEqual([false, true, false]);
    expect(scale.width).toBeCloseTo(100 + 36 + 200);
    for (const time of [0, 5_000, 3_600_000, 3_615_000]) expect(scale.time(scale.x(time))).toBeCloseTo(time, 0);
  });
});

describe("small parts", () => {
  it("find rows by their heights", () => {
    const heights = new Heights(10);
    heights.resize(1_000);
    heights.set(3, 50);
    expect([heights.total, heights.offset(4), heights.at(79), heights.at(80)]).toEqual([10_040, 80, 3, 4]);
    heights.shift(2);
    expect([heights.length, heights.offset(6)]).toEqual([1_002, 100]);
    heights.shift(-2);
    expect([heights.length, heights.offset(4)]).toEqual([1_000, 80]);
  });

  it("allow only plain links", () => {
    expect(safeHref("https://a.test/x")).toBe("https://a.test/x");
    expect(safeHref("mailto:a@b.test")).toBe("mailto:a@b.test");
    for (const bad of [
      "javascript:x",
      "java\tscript:x",
      "//a.test",
      "/v1",
      "#/s",
      "data:text/html,x",
      "https://u:p@a.test/",
    ])
      expect(safeHref(bad), bad).toBeNull();
    expect(misleadingHost("https://good.test", "https://evil.test/")).toBe("evil.test");
    expect(misleadingHost("the notes", "https://evil.test/")).toBeNull();
  });

  it("mark the words that differ", () => {
    const diff = diffOf("a\nold word here\nb\n", "a\nnew word here\nb\n");
    if ("tooLarge" in diff) throw new Error("too large");
    expect([diff.added, diff.removed]).toEqual([1, 1]);
    const added = diff.lines.find((line) => line.kind === "add");
    expect(added?.kind === "add" ? spansOf(added).filter(({ changed }) => changed) : []).toEqual([
      { text: "new", changed: true },
    ]);
    expect(diffOf("x".repeat(400_000), "")).toEqual({ tooLarge: true });
  });

  it("read the highlighter's output without HTML", () => {
    expect(
      piecesOf('<span class="hljs-keyword">const</span> a = <span class="hljs-string">&quot;&lt;b&gt;&quot;</span>'),
    ).toEqual([
      ["key", "const"],
      ["", " a = "],
      ["string", '"<b>"'],
    ]);
  });

  it("write numbers and times short, and one line of hostile text", () => {
    expect([age(3_000), age(61_000), count(12_400), money(0.004), money(1.5)]).toEqual([
      ...["now", "1 min", "12k", "<$0.01", "$1.50"],
    ]);
    expect([-1, 24, 100, 61_000].map(duration)).toEqual(["0 ms", "24 ms", "0.1 s", "1 min 01 s"]);
    expect(oneLine("a\u202e\u0000b\n\tc")).toBe("ab c");
  });
});
