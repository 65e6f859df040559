/** What becomes of an ACP prompt: items, usage, endings, silence. */

import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { endOf, eventsOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { describe, expect, test } from "vitest";
import { noQuirks } from "../../src/acp/recipe.ts";
import { planeStub, seat } from "./seat.ts";

describe("items", () => {
  test("a tool is announced once, with its arguments, after the words before it", async () => {
    const at = await seat();
    const events = await at.run(await at.open(), "tool");
    expect(eventsOf(events, "tool_call")).toEqual([
      {
        type: "tool_call",
        call: "t1",
        name: "edit",
        kind: "edit",
        title: "Edit a.txt",
        input: { path: "/p/a.txt" },
        locations: [{ path: "/p/a.txt", line: 3 }],
        diff: null,
        parent: null,
      },
    ]);
    expect(eventsOf(events, "tool_result")).toEqual([
      {
        type: "tool_result",
        call: "t1",
        output: "changed",
        is_error: false,
        diff: { path: "/p/a.txt", before: "a", after: "b" },
      },
    ]);
    const order = events
      .map((event) => event.type)
      .filter((type) => ["text", "tool_call", "tool_result"].includes(type));
    expect(order).toEqual(["text", "tool_call", "tool_result", "text"]);
  });

  test("chunks with an id are grouped by it", async () => {
    const at = await seat();
    const events = await at.run(await at.open(), "messages");
    expect(eventsOf(events, "text").map((event) => event.text)).toEqual(["one more", "two"]);
  });

  test("plan, title, modes, context and usage come in our words", async () => {
    const at = await seat({ recipe: { quirks: { ...noQuirks, modeEcho: "[MODE_UPDATE] " } } });
    const conversation = await at.open();
    const events = await at.run(conversation, "planAndMode");
    expect(eventsOf(events, "plan")).toMatchObject([{ entries: [{ text: "do it", status: "in_progress" }] }]);
    expect(eventsOf(events, "title")).toEqual([{ type: "title", title: "Do it" }]);
    expect(eventsOf(events, "mode").map((event) => event.mode)).toEqual(["all", "yolo"]);
    expect(eventsOf(events, "context")).toMatchObject([{ used: 10, size: 100 }]);
    expect(eventsOf(events, "text")).toEqual([]);
    expect(endOf(events).usage).toEqual({ input: 7, cache_read: 2, cache_write: 0, output: 3, cost: 0.25 });
    // The agent names the price of the session: the same price again is a turn for nothing.
    expect(endOf(await at.run(conversation, "planAndMode")).usage?.cost).toBe(0);
  });

  test("an unknown method is answered as such", async () => {
    const at = await seat();
    expect(await at.ask(await at.open(), "unknownRequest")).toBe("-32601");
  });
});

describe("endings", () => {
  test("a limit truncates, a rate limit has its code", async () => {
    const at = await seat();
    const conversation = await at.open();
    expect(endOf(await at.run(conversation, "truncate")).reason).toBe("truncated");
    expect(endOf(await at.run(conversation, "limited"))).toMatchObject({ error: { code: "rate_limited" } });
  });

  test("what we cancelled is cancelled, also when the agent says it finished", async () => {
    const at = await seat({ flags: ["--end-turn-on-cancel"] });
    const turn = watchTurn(await at.open(), "do:slow");
    await turn.seen("text_delta");
    turn.abort();
    expect(endOf(await turn.done).reason).toBe("cancelled");
  });

  test("an agent that does not stop loses its process", async () => {
    const clock = fakeClock();
    const at = await seat({ flags: ["--ignore-cancel"], clock });
    const conversation = await at.open();
    const turn = watchTurn(conversation, "do:slow");
    await turn.seen("text_delta");
    turn.abort();
    // The inactivity watch sleeps too.
    await clock.sleepers(2);
    await clock.advance(5000);
    expect(endOf(await turn.done).reason).toBe("cancelled");
    expect(conversation.alive).toBe(false);
  });

  test("a tool still open when the turn is cancelled gets a result", async () => {
    const at = await seat();
    const turn = watchTurn(await at.open(), "do:longTool");
    await turn.seen("tool_call");
    turn.abort();
    expect(eventsOf(await turn.done, "tool_result")).toMatchObject([{ call: "t6", is_error: true }]);
  });
});

describe("silence", () => {
  test("ends the turn as a timeout, and the process", async () => {
    const clock = fakeClock();
    const at = await seat({ clock });
    const conversation = await at.open();
    const turn = watchTurn(conversation, "do:slow");
    await turn.seen("text_delta");
    await clock.sleepers(1);
    await clock.advance(20 * 60_000);
    expect(endOf(await turn.done)).toMatchObject({ reason: "failed", error: { code: "timeout" } });
    expect(conversation.alive).toBe(false);
  });

  test("is none while a tool runs", async () => {
    const clock = fakeClock();
    const at = await seat({ clock });
    const conversation = await at.open();
    const turn = watchTurn(conversation, "do:longTool");
    await turn.seen("tool_call");
    await clock.sleepers(1);
    await clock.advance(3 * 60 * 60_000);
    turn.abort();
    expect(endOf(await turn.done).reason).toBe("cancelled");
    // A silent agent's process would have been ended.
    expect(conversation.alive).toBe(true);
  });
});

describe("the plane", () => {
  test("is waited for before the first prompt only", async () => {
    const asked: number[] = [];
    const at = await seat({ plane: planeStub(true, asked) });
    const conversation = await at.open();
    await at.run(conversation, "reply");
    expect(asked).toEqual([3000, 0]);
    await at.run(conversation, "reply");
    expect(asked).toEqual([3000, 0]);
  });

  test("is not waited for where the agent connects on the first prompt", async () => {
    const asked: number[] = [];
    const at = await seat({
      plane: planeStub(true, asked),
      recipe: { plane: { waitMs: 0, settleMs: 0, lazyAfterMs: null } },
    });
    await at.run(await at.open(), "reply");
    expect(asked).toEqual([0]);
  });

  test("of an agent that connects when it needs a tool is neither waited for nor missed", async () => {
    const asked: number[] = [];
    const at = await seat({ plane: planeStub(false, asked, false) });
    const conversation = await at.open();
    expect(eventsOf(await at.run(conversation, "reply"), "notice")).toEqual([]);
    expect(eventsOf(await at.run(conversation, "reply"), "notice")).toEqual([]);
    expect(asked).toEqual([]);
  });

  test("is looked for again when the first turn was cut short", async () => {
    const at = await seat({ plane: planeStub(false) });
    const conversation = await at.open();
    const turn = watchTurn(conversation, "do:slow");
    await turn.seen("text_delta");
    turn.abort();
    expect(eventsOf(await turn.done, "notice")).toEqual([]);
    expect(eventsOf(await at.run(conversation, "reply"), "notice")).toHaveLength(1);
  });

  test("counts as connected once a call reached it, whatever the agent listed", async () => {
    const plane = { ...planeStub(false), calls: () => ({ open: 0, answeredAt: 1 }) };
    const at = await seat({ plane });
    const conversation = await at.open();
    expect(eventsOf(await at.run(conversation, "reply"), "notice")).toEqual([]);
  });

  test("that the agent never listed is an error in the first turn", async () => {
    const at = await seat({ plane: planeStub(false) });
    const conversation = await at.open();
    const text = expect.stringContaining("did not connect to Aegis");
    expect(eventsOf(await at.run(conversation, "reply"), "notice")).toMatchObject([{ level: "error", text }]);
    expect(eventsOf(await at.run(conversation, "reply"), "notice")).toEqual([]);
  });
});
