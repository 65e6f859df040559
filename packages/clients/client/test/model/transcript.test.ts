import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { Transcript } from "../../src/model/transcript.ts";
import { aMessage, event, message, session, turn } from "./events.ts";

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

  it("skips a part of a text that does not continue it, and streams a second text of the same message", () => {
    const transcript = new Transcript();
    const delta = { type: "text" as const, session, turn, message: "m" };
    const texts = () => transcript.rows.map(({ body }) => (body.kind === "text" ? body.parts.join("") : body.kind));
    transcript.addDelta({ ...delta, offset: 5, text: "missed" });
    transcript.addDelta({ ...delta, offset: 0, text: "One" });
    transcript.addDelta({ ...delta, offset: 9, text: "gap" });
    expect(texts()).toEqual(["One"]);
    const whole = event("turn.text", { turn, message: "m", text: "One." });
    transcript.add(whole);
    transcript.addDelta({ ...delta, offset: 0, text: "Two" });
    expect(texts()).toEqual(["One.", "Two"]);
    expect(new Set(transcript.rows.map(({ key }) => key)).size).toBe(2);
    // The text that was streamed is not shown again by a page that contains its event.
    expect(transcript.addOlder([whole])).toBe(0);
    transcript.add(event("turn.ended", { turn, reason: "cancelled", error: null, text: "", usage: null }));
    expect(transcript.rows.map(({ body }) => body)).toMatchObject([
      { kind: "text", live: false },
      { kind: "text", live: false },
      { kind: "end", reason: "cancelled" },
    ]);
  });

  it("continues a part of its oldest rows, which joins it again without a gap or a double", () => {
    const turns = Array.from({ length: 10 }, (_, at) => {
      const of = newId("trn", 50 + at);
      return [
        event("turn.started", { turn: of, messages: [], spontaneous: false }),
        event("turn.text", { turn: of, message: "m", text: `text ${at}` }),
        event("turn.ended", { turn: of, reason: "completed", error: null, text: "", usage: null }),
      ];
    }).flat();
    const live = new Transcript();
    for (const one of turns) live.add(one);
    const whole = live.rows.map(({ key }) => key);
    const part = live.oldest(7);
    expect(live.trim(5)).toBe(15);
    for (const one of turns.filter(({ seq }) => seq > part.last)) part.add(one);
    expect(part.rows.map(({ key }) => key)).toEqual(whole);
    live.prepend(part);
    expect(live.rows.map(({ key }) => key)).toEqual(whole);
  });

  it("takes a message back into the list of waiting ones unless its turn has already started again", () => {
    const transcript = new Transcript();
    transcript.add(event("message.admitted", { message: aMessage() }));
    transcript.add(event("turn.started", { turn, messages: [message], spontaneous: false }));
    transcript.add(event("turn.ended", { turn, reason: "lost", error: null, text: "", usage: null }));
    transcript.add(event("turn.started", { turn: newId("trn", 2), messages: [message], spontaneous: false }));
    transcript.add(event("message.redelivered", { message }));
    expect(transcript.waiting()).toEqual([]);
    transcript.add(event("turn.ended", { turn: newId("trn", 2), reason: "lost", error: null, text: "", usage: null }));
    transcript.add(event("message.redelivered", { message }));
    expect(transcript.waiting().map(({ id }) => id)).toEqual([message]);
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
