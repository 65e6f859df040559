import type { FollowedItem } from "@aegis/client/events.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId, type TurnId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { createStyle } from "../src/format/style.ts";
import { TurnPrinter } from "../src/turn-printer.ts";

const session: SessionId = newId("ses", 0);
const message: MessageId = newId("msg", 0);
const turn: TurnId = newId("trn", 0);

function event(type: Event["type"], data: unknown): FollowedItem {
  return { kind: "event", event: { seq: 1, at: 0, session, type, data } as Event };
}
const started = (id = turn, messages = [message]) => event("turn.started", { turn: id, messages, spontaneous: false });
const text = (whole: string, id = turn) => event("turn.text", { turn: id, message: "m1", text: whole });
const tool = event("turn.tool_call", { turn, call: "c", name: "list", title: "List files", kind: "read" });
const ended = (id = turn) => event("turn.ended", { turn: id, reason: "completed", error: null, text: "", usage: null });
const delta = (part: string, offset = 0, id = turn): FollowedItem => ({
  kind: "delta",
  delta: { type: "text", session, turn: id, message: "m1", offset, text: part },
});

function show(items: FollowedItem[], only: MessageId | null = null): string {
  let shown = "";
  const out = { text: (part: string) => (shown += part), aside: (line: string) => (shown += `[${line}]\n`) };
  const printer = new TurnPrinter(
    { text: (part) => void out.text(part), aside: (line) => void out.aside(line) },
    createStyle(false),
    only,
  );
  for (const item of items) printer.show(item);
  printer.finish();
  return shown;
}

describe("a turn on a terminal", () => {
  it("shows streamed text once, also when only its end comes whole", () => {
    expect(show([started(), delta("Hel"), delta("lo", 3), text("Hello"), ended()])).toBe("Hello\n");
    expect(show([started(), delta("Hel"), text("Hello there"), ended()])).toBe("Hello there\n");
    expect(show([started(), text("Hello"), ended()])).toBe("Hello\n");
  });

  it("shows text once when part of the stream was missed", () => {
    expect(show([started(), delta("lo th", 3), text("Hello there")])).toBe("Hello there\n");
    expect(show([started(), delta("Hel"), delta("ere", 8), text("Hello there")])).toBe("Hello there\n");
  });

  it("tells text again from its beginning when it was changed after it streamed", () => {
    expect(show([started(), delta("Hello"), text("Goodbye")])).toBe("Hello\nGoodbye\n");
  });

  it("tells only the lines again that differ, and nothing for blanks at the ends", () => {
    expect(show([started(), delta("one\ntwo\nthree"), text("one\nTWO\nthree")])).toBe("one\ntwo\nthree\nTWO\nthree\n");
    expect(show([started(), delta("\nHello \n\n"), text("Hello")])).toBe("\nHello \n\n");
  });

  it("leaves out the stream of a turn whose start it did not see", () => {
    expect(show([delta("llo", 2), text("Hello"), ended()])).toBe("Hello\n");
  });

  it("puts tool calls on lines of their own", () => {
    expect(show([started(), delta("I look."), tool, delta(" Done.", 7), text("I look. Done.")])).toBe(
      "I look.\n[→ List files]\n Done.\n",
    );
  });

  it("shows only the turn that took the message it waits for", () => {
    const other: TurnId = newId("trn", 1);
    const items = [
      started(other, [newId("msg", 5)]),
      delta("not mine", 0, other),
      text("not mine", other),
      ended(other),
    ];
    expect(show([...items, started(), text("mine"), ended()], message)).toBe("mine\n");
  });

  it("lets no escape sequence through", () => {
    expect(show([started(), delta("a\u001b"), delta("[2Jb", 2), text("a\u001b[2Jb")])).toBe("a[2Jb\n");
  });
});
