import type { Event, EventData, EventType, LiveDelta } from "@aegis/contract/event.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { UpdateMapper } from "../src/updates.ts";

const session = "ses_00000000000000000000000000" as SessionId;
const turn = "trn_00000000000000000000000000" as TurnId;
let seq = 0;

function event<T extends EventType>(type: T, data: EventData<T>): Event {
  seq += 1;
  return { type, data, session, seq, at: 0 } as unknown as Event;
}

const delta = (offset: number, text: string): LiveDelta => ({
  type: "text",
  session,
  turn,
  message: "m1",
  offset,
  text,
});
const mapper = (notices = false) => new UpdateMapper({ root: "/project", notices, cost: null });
const none = () => false;
const chunk = (text: string) => ({
  sessionUpdate: "agent_message_chunk",
  messageId: "m1",
  content: { type: "text", text },
});
const whole = (text: string) => event("turn.text", { turn, message: "m1", text });

describe("streamed text", () => {
  it("is sent once: the event adds only what the deltas did not", () => {
    const map = mapper();
    expect(map.delta(delta(0, "one "))).toEqual(chunk("one "));
    expect(map.delta(delta(4, "two "))).toEqual(chunk("two "));
    expect(map.event(whole("one two three"), none)).toEqual([chunk("three")]);
    expect(map.event(whole("one two three"), none)).toEqual([]);
  });

  it("is not sent after a gap until the event fills it", () => {
    const map = mapper();
    expect(map.delta(delta(0, "one "))).toEqual(chunk("one "));
    expect(map.delta(delta(8, "three"))).toBeNull();
    expect(map.event(whole("one two three"), none)).toEqual([chunk("two three")]);
  });
});

const call = event("turn.tool_call", {
  turn,
  call: "c1",
  name: "edit_file",
  kind: "edit",
  title: "",
  input: { path: "a.ts" },
  locations: [{ path: "a.ts", line: 3 }, { path: "/abs/b.ts" }],
  diff: { path: "a.ts", before: null, after: "new" },
  parent: null,
});
const result = event("turn.tool_result", { turn, call: "c1", output: "", is_error: false, diff: null });

describe("tool calls", () => {
  it("have absolute paths, a diff, and keep the diff when the result has no text", () => {
    const map = mapper();
    expect(map.event(call, none)).toEqual([
      {
        sessionUpdate: "tool_call",
        status: "in_progress",
        toolCallId: "c1",
        title: "edit_file",
        name: "edit_file",
        kind: "edit",
        rawInput: { path: "a.ts" },
        locations: [{ path: "/project/a.ts", line: 3 }, { path: "/abs/b.ts" }],
        content: [{ type: "diff", path: "/project/a.ts", oldText: null, newText: "new" }],
      },
    ]);
    expect(map.event(result, none)).toEqual([
      { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" },
    ]);
  });

  it("are one update each in a replay; a result without its call is kept", () => {
    const orphan = event("turn.tool_result", { turn, call: "c0", output: "x", is_error: true, diff: null });
    expect(
      mapper()
        .replay([orphan, call, result])
        .map((one) => [one.sessionUpdate, "status" in one && one.status]),
    ).toEqual([
      ["tool_call_update", "failed"],
      ["tool_call", "completed"],
    ]);
  });
});

it("maps plans, usage with the cost of the session, titles and other senders", () => {
  const map = mapper();
  const entries = [{ text: "read", status: "completed" as const }];
  expect(map.event(event("turn.plan", { turn, entries }), none)).toEqual([
    { sessionUpdate: "plan", entries: [{ content: "read", status: "completed", priority: "medium" }] },
  ]);
  expect(map.event(event("turn.context", { turn, used: 10, size: null }), none)).toEqual([]);
  expect(map.event(event("turn.context", { turn, used: 10, size: 100 }), none)).toEqual([
    { sessionUpdate: "usage_update", used: 10, size: 100 },
  ]);
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, cost: 0.25 };
  const end = () => event("turn.ended", { turn, reason: "completed", error: null, text: "", usage });
  map.event(end(), none);
  expect(map.event(end(), none)).toEqual([
    { sessionUpdate: "usage_update", used: 10, size: 100, cost: { amount: 0.5, currency: "USD" } },
  ]);
  const message = { id: "msg_1", body: "hello", sender: { kind: "client", name: "cursor" } };
  const admitted = event("message.admitted", { message } as unknown as EventData<"message.admitted">);
  expect(map.event(admitted, none)).toMatchObject([{ content: { text: "> from client:cursor\n\nhello" } }]);
  expect(map.event(admitted, (id) => id === "msg_1")).toEqual([]);
});

it("shows notices as such where the client has them, and else only what a person must know", () => {
  const notice = (level: "info" | "error") => event("turn.notice", { turn, level, text: "careful" });
  expect(mapper(true).event(notice("info"), none)).toEqual([
    { sessionUpdate: "notice", severity: "info", title: "careful" },
  ]);
  expect(mapper().event(notice("info"), none)).toEqual([]);
  expect(mapper().event(notice("error"), none)).toMatchObject([{ sessionUpdate: "agent_thought_chunk" }]);
});
