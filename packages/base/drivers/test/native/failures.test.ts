/** What the loop does when the model's API does not answer as it should. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { anthropicWire } from "@aegis/test/helpers/fake-models/anthropic.ts";
import type { Reply } from "@aegis/test/helpers/fake-models/wire.ts";
import { wires } from "@aegis/test/helpers/fake-models/wires.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, test } from "vitest";
import { seat } from "./seat.ts";

const busy: Reply = { status: 429, message: "slow down" };

describe.each(wires)("over $api", (wire) => {
  test.each([
    ["429", busy],
    ["529", { status: 529, message: "busy" }],
    ["500", { status: 500, message: "oops" }],
    ["a connection closed at once", { cut: "at once" }],
    ["a stream cut before anything was said", { cut: "mid JSON" }],
  ] satisfies [string, Reply][])("%s is tried again with a notice", async (_, reply) => {
    const clock = fakeClock();
    const { conversation, models } = await seat([reply, { text: "pong" }], { wire, clock });
    const turn = watchTurn(conversation, "hello");
    await turn.seen("notice");
    await clock.advance(1000);
    const events = await turn.done;
    expect(textOf(events)).toBe("pong");
    expect(endOf(events).reason).toBe("completed");
    expect(models.requests).toHaveLength(2);
    expect(eventsOf(events, "notice")).toMatchObject([{ level: "warning", text: expect.stringContaining("1 of 5") }]);
  });

  test.each(["after text", "mid JSON"] as const)("a stream cut %s fails once part of it was shown", async (cut) => {
    const { say, models } = await seat([{ text: ["half of", " it"], cut }, { text: "pong" }], { wire });
    const events = await say("hello");
    expect(endOf(events)).toMatchObject({ reason: "failed", error: { code: "protocol" } });
    expect(textOf(events)).toBe("half of it");
    expect(models.requests).toHaveLength(1);
    expect(textOf(await say("again"))).toBe("pong");
    expect(models.requests[1]?.transcript).toEqual(["user: hello", "assistant: half of it", "user: again"]);
  });

  test.each(["at once", "after text"] as const)("a model that falls silent %s times out", async (hang) => {
    const clock = fakeClock();
    const { conversation, models } = await seat([{ text: "well", hang }], { wire, clock });
    const turn = watchTurn(conversation, "hello");
    await models.arrived(1);
    if (hang === "after text") await turn.seen("text_delta");
    await clock.advance(5 * 60_000);
    expect(endOf(await turn.done)).toMatchObject({ reason: "failed", error: { code: "timeout" } });
    await models.abandoned;
  });

  test("too long a conversation is summed up once, then given up", async () => {
    const overflow: Reply = { status: 400, message: "prompt is too long: 300000 tokens > 200000 maximum" };
    const { say, models } = await seat(
      [
        { text: "one" },
        { text: "two" },
        { text: "three" },
        overflow,
        { text: "SUMMARY" },
        { text: "go on" },
        overflow,
        { text: "S2" },
        overflow,
      ],
      { wire },
    );
    for (const word of ["a", "b", "c"]) await say(word.repeat(200));
    const events = await say("d");
    expect(eventsOf(events, "compaction")).toEqual([{ type: "compaction", summary: "SUMMARY" }]);
    expect(endOf(events)).toMatchObject({ reason: "completed", usage: { input: 200, output: 20 } });
    expect(models.requests[5]?.transcript.join("\n")).toContain("SUMMARY");
    expect(endOf(await say("e"))).toMatchObject({ reason: "failed", error: { code: "context_overflow" } });
  });
});

test("an overload told inside the stream is tried again, or fails once part of the answer was shown", async () => {
  const clock = fakeClock();
  const streamError = { type: "overloaded_error", message: "Overloaded" };
  const script = [{ streamError }, { text: "pong" }, { text: "half", streamError }];
  const { conversation } = await seat(script, { wire: anthropicWire, clock });
  const turn = watchTurn(conversation, "hello");
  await turn.seen("notice");
  await clock.advance(1000);
  expect(textOf(await turn.done)).toBe("pong");
  expect(endOf(await runTurn(conversation, "more"))).toMatchObject({ reason: "failed", error: { code: "overloaded" } });
});

test("Retry-After is honoured", async () => {
  const clock = fakeClock();
  const { conversation, models } = await seat([{ ...busy, headers: { "retry-after": "7" } }, { text: "pong" }], {
    clock,
  });
  const turn = watchTurn(conversation, "hello");
  const notice = await turn.seen("notice");
  expect(notice).toMatchObject({ text: expect.stringContaining("in 7 s") });
  await clock.advance(6999);
  expect(models.requests).toHaveLength(1);
  await clock.advance(1);
  expect(endOf(await turn.done).reason).toBe("completed");
});

test("a wait of hours is not waited for", async () => {
  const { say } = await seat([{ ...busy, headers: { "retry-after": "7200" } }]);
  expect(endOf(await say("hello"))).toMatchObject({ reason: "failed", error: { code: "rate_limited" } });
});

test.each([
  ["429", busy, "rate_limited"],
  ["529", { status: 529, message: "busy" }, "overloaded"],
  ["503", { status: 503, message: "down" }, "model"],
] as const)("after five tries %s is %s", async (_, reply, code) => {
  const clock = fakeClock();
  const { conversation, models } = await seat(() => reply, { clock });
  const turn = watchTurn(conversation, "hello");
  for (let tries = 1; tries <= 5; tries++) {
    await waitUntil(`notice ${tries}`, () => eventsOf(turn.events, "notice").length === tries);
    await clock.advance(30_000);
  }
  const events = await turn.done;
  expect(endOf(events)).toMatchObject({ reason: "failed", error: { code } });
  expect(models.requests).toHaveLength(6);
  expect(eventsOf(events, "notice")).toHaveLength(5);
});

test("a request the API refuses is not tried again", async () => {
  const { say, models } = await seat([{ status: 422, message: "temperature is wrong" }]);
  expect(endOf(await say("hello"))).toMatchObject({
    error: { code: "model", message: expect.stringContaining("temperature") },
  });
  expect(models.requests).toHaveLength(1);
});

describe("cancelling ends the turn at once", () => {
  const cases: [string, Reply, "text_delta" | "accepted" | "notice" | "tool_call"][] = [
    ["before the model answers", { hang: "at once" }, "accepted"],
    ["while it speaks", { text: "well", hang: "after text" }, "text_delta"],
    ["while it waits to try again", { ...busy, headers: { "retry-after": "100" } }, "notice"],
    [
      "while a command runs",
      { calls: [{ id: "c", name: "bash", input: { command: "touch ready; sleep 1000" } }] },
      "tool_call",
    ],
    [
      "while a command ignores SIGTERM",
      { calls: [{ id: "c", name: "bash", input: { command: "trap '' TERM; touch ready; sleep 1000" } }] },
      "tool_call",
    ],
    ["while a plane tool works", { calls: [{ id: "c", name: "ask_peer", input: {} }] }, "tool_call"],
  ];
  test.each(cases)("%s", async (_, reply, until) => {
    const tools = [{ name: "ask_peer", description: "", inputSchema: { type: "object" }, readOnly: false }];
    const host = { tools, callTool: () => new Promise<never>(() => {}) };
    const { conversation, models, dir } = await seat([reply, { text: "pong" }], { host });
    const turn = watchTurn(conversation, "hello");
    await turn.seen(until);
    await models.arrived(1);
    if (JSON.stringify(reply).includes("touch ready")) await waitUntil("it runs", () => existsSync(join(dir, "ready")));
    const began = performance.now();
    turn.abort();
    const events = await turn.done;
    expect(endOf(events)).toMatchObject({ reason: "cancelled", error: null });
    // Fifty milliseconds on a quiet machine; the rest is for a loaded one.
    expect(performance.now() - began).toBeLessThan(scaled(2_000));
    expect(textOf(await runTurn(conversation, "go on"))).toBe("pong");
  });
});
