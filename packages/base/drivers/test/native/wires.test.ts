/** The basic turn and a tool call on every wire. */

import { wires } from "@aegis/test/helpers/fake-models/wires.ts";
import { endOf, eventsOf, textOf } from "@aegis/test/helpers/turns.ts";
import { describe, expect, test } from "vitest";
import { seat } from "./seat.ts";

describe.each(wires)("over $api", (wire) => {
  test("an answer streams, is counted and is remembered", async () => {
    const { say, models } = await seat(
      [{ thinking: "hm", text: ["one ", "two ", "three"], usage: { input: 200, output: 30 } }, { text: "again" }],
      { wire },
    );
    const events = await say("hello");
    expect(textOf(events)).toBe("one two three");
    expect(eventsOf(events, "text_delta").map((event) => event.text)).toEqual(["one ", "two ", "three"]);
    expect(eventsOf(events, "thinking").map((event) => event.text)).toEqual(["hm"]);
    expect(eventsOf(events, "usage")).toMatchObject([{ input: 200, output: 30 }]);
    expect(eventsOf(events, "context")).toMatchObject([{ used: 230, size: 128_000 }]);
    expect(endOf(events)).toMatchObject({ reason: "completed", error: null, usage: { input: 200, output: 30 } });
    expect(textOf(await say("and now?"))).toBe("again");
    const transcript = models.requests[1]?.transcript.filter((line) => !line.startsWith("thinking:"));
    expect(transcript?.filter((line) => line !== "assistant: hm")).toEqual([
      "user: hello",
      "assistant: one two three",
      "user: and now?",
    ]);
  });

  test("a tool is called and its result goes back", async () => {
    const { say, models } = await seat(
      [
        { thinking: "look", text: "I look.", calls: [{ id: "c1", name: "read", input: { path: "a.txt" } }] },
        { text: "It says hi." },
      ],
      { wire, files: { "a.txt": "hi\n" } },
    );
    const events = await say("what is in a.txt?");
    expect(endOf(events)).toMatchObject({ reason: "completed", usage: { input: 200, output: 20 } });
    const [call] = eventsOf(events, "tool_call");
    expect(call).toMatchObject({ name: "read", kind: "read", title: "Read a.txt", locations: [{ path: "a.txt" }] });
    expect(eventsOf(events, "tool_result")).toMatchObject([{ call: call?.call, output: "1\thi", is_error: false }]);
    expect(models.requests[0]?.tools).toEqual(["read", "write", "edit", "bash", "grep", "glob", "ls", "fetch", "todo"]);
    expect(models.requests[1]?.transcript.slice(-2)).toEqual(['call: read {"path":"a.txt"}', "result: 1\thi"]);
    expect(models.requests[0]?.system).toContain("You are a test.");
  });

  test.each([
    [{ text: "so fa", finish: "length" as const }, "truncated"],
    [{ text: "no", finish: "filter" as const }, "refused"],
  ])("an end by %j is %s", async (reply, reason) => {
    const { say } = await seat([reply, { text: "fine" }], { wire });
    expect(endOf(await say("hello"))).toMatchObject({ reason, error: { message: expect.any(String) } });
    expect(textOf(await say("go on"))).toBe("fine");
  });

  test("a refused key is told with its name, and never shown", async () => {
    const { say, models } = await seat([{ status: 401, message: "bad key secret-key-value" }], { wire });
    const events = await say("hello");
    expect(endOf(events)).toMatchObject({
      reason: "failed",
      error: { code: "not_logged_in", fix: expect.stringContaining("FAKE_KEY") },
    });
    expect(JSON.stringify(events)).not.toContain("secret-key-value");
    expect(JSON.stringify(models.requests[0]?.headers)).toContain("secret-key-value");
  });

  test("an unknown model is told", async () => {
    const { say } = await seat([{ status: 404, message: "no such model" }], { wire });
    expect(endOf(await say("hello"))).toMatchObject({ reason: "failed", error: { code: "bad_model" } });
  });
});
