/** What a conversation remembers survives a restart, wherever a crash cut it. */

import { anthropicWire } from "@aegis/test/helpers/fake-models/anthropic.ts";
import { openaiResponsesWire } from "@aegis/test/helpers/fake-models/openai-responses.ts";
import { wires } from "@aegis/test/helpers/fake-models/wires.ts";
import { endOf, eventsOf, promptOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { History } from "../../src/native/history.ts";
import type { NativeMessage } from "../../src/native/messages.ts";
import { interruptedResult } from "../../src/native/repair.ts";
import { seat } from "./seat.ts";

/** What every model API asks of a conversation, or what is wrong with this one. */
function problem(messages: readonly NativeMessage[]): string | null {
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1];
    const after = messages[index + 1];
    if (before === undefined && message.role !== "user") return "it does not start with the user";
    if (before?.role === message.role) return `two neighbours are ${message.role}`;
    if (message.role === "tool" && !asks(before)) return "a result has no call";
    if (message.role !== "assistant") continue;
    if (message.content.every((part) => part.type === "reasoning")) return "an answer is only thought";
    const results = after?.role === "tool" ? after.content.map((part) => part.toolCallId) : [];
    const calls = message.content.filter((part) => part.type === "tool-call").map((part) => part.toolCallId);
    if (calls.join() !== results.join()) return `the calls ${calls} have the results ${results}`;
  }
  return null;
}

function asks(message: NativeMessage | undefined): boolean {
  return message?.role === "assistant" && message.content.some((part) => part.type === "tool-call");
}

describe("a memory cut anywhere", () => {
  /** A turn as the loop records it: prompt, then steps of thought, text, calls and their results. */
  const step = fc.record({
    thinking: fc.boolean(),
    text: fc.constantFrom("", "words"),
    calls: fc.integer({ min: 0, max: 3 }),
    compact: fc.boolean(),
  });
  const conversations = fc.array(fc.array(step, { maxLength: 4 }), { minLength: 1, maxLength: 4 });

  test("always gives a conversation that an API takes", () => {
    fc.assert(
      fc.property(conversations, (turns) => {
        const entries = record(turns);
        for (let length = 0; length <= entries.length; length++) {
          const history = new History();
          const unreadable = history.restore(JSON.parse(JSON.stringify(entries.slice(0, length))));
          const found = [problem(history.forModel())];
          for (const _ of history.addPrompt({ text: "go on", parts: [], images: [], key: "later" }))
            found.push(problem(history.forModel()));
          expect({ unreadable, found }).toEqual({ unreadable: 0, found: [null, null] });
        }
      }),
      { numRuns: 100 },
    );
  });

  function record(turns: { thinking: boolean; text: string; calls: number; compact: boolean }[][]): unknown[] {
    const history = new History();
    const entries: unknown[] = [];
    let id = 0;
    turns.forEach((steps, turn) => {
      for (const event of history.addPrompt({ text: `prompt ${turn}`, parts: [], images: [], key: `key ${turn}` }))
        entries.push(event.value);
      for (const { thinking, text, calls, compact } of steps) {
        const ids = Array.from({ length: calls }, () => `call ${id++}`);
        const message: NativeMessage = {
          role: "assistant",
          content: [
            ...(thinking ? [{ type: "reasoning" as const, text: "hm" }] : []),
            { type: "text" as const, text },
            ...ids.map((toolCallId) => ({ type: "tool-call" as const, toolCallId, toolName: "ls", input: {} })),
          ],
        };
        entries.push(history.add(message).value);
        for (const toolCallId of ids) {
          const output = { type: "text" as const, value: "ok" };
          const part = { type: "tool-result" as const, toolCallId, toolName: "ls", output };
          entries.push(history.add({ role: "tool", content: [part] }).value);
        }
        if (compact) entries.push(history.compact(history.forModel().slice(-3)).value);
      }
    });
    return entries;
  }
});

test.each(wires)("after a crash in the middle of a turn the next one goes on over $api", async (wire) => {
  const script = [
    {
      text: "I look.",
      calls: [
        { id: "a", name: "ls", input: {} },
        { id: "b", name: "ls", input: { path: "." } },
      ],
    },
    { text: "done" },
  ];
  const first = await seat(script, { wire });
  await first.say("hello");
  for (let length = 1; length <= first.memory.length; length++) {
    const { say, models } = await seat([{ text: "here" }], { wire, memory: first.memory.slice(0, length) });
    expect(textOf(await say("and?"))).toBe("here");
    const transcript = models.requests[0]?.transcript ?? [];
    const calls = transcript.filter((line) => line.startsWith("call:")).length;
    const results = transcript.filter((line) => line.startsWith("result:"));
    expect(results).toHaveLength(calls);
    const lost = results.filter((line) => line.includes(interruptedResult)).length;
    expect(lost).toBe(calls === 0 ? 0 : Math.max(0, 4 - length));
  }
});

test("a prompt that is delivered again after a crash is remembered once", async () => {
  const first = await seat([{ hang: "at once" }]);
  const turn = watchTurn(first.conversation, promptOf("hello", "batch-1"));
  const stored = await turn.seen("memory");
  turn.abort();
  await turn.done;
  if (stored.type !== "memory") throw new Error("no memory");
  const { models, conversation } = await seat([{ text: "hi" }], { memory: [stored.value] });
  const events = await runTurn(conversation, promptOf("hello", "batch-1"));
  expect(eventsOf(events, "accepted")).toHaveLength(1);
  expect(models.requests[0]?.transcript).toEqual(["user: hello"]);
});

test("entries that cannot be read are left out", async () => {
  const { say, models } = await seat([{ text: "hi" }], {
    memory: [{ kind: "message", message: { role: "user", content: "kept" } }, 7, { kind: "new" }],
  });
  expect(endOf(await say("hello")).reason).toBe("completed");
  expect(models.requests[0]?.transcript).toEqual(["user: kept\n\nhello"]);
});

test("Anthropic is told what to keep of a conversation", async () => {
  const { say, models } = await seat([{ text: "a" }, { text: "b" }], { wire: anthropicWire });
  await say("one");
  await say("two");
  const body = models.requests[1]?.body as { system: object[]; messages: { content: object[] }[] } | undefined;
  const kept = { cache_control: { type: "ephemeral" } };
  expect(body?.system).toMatchObject([kept]);
  expect(body?.messages.map(({ content }) => "cache_control" in (content.at(-1) ?? {}))).toEqual([false, false, true]);
});

test("OpenAI is told to keep nothing", async () => {
  const { say, models } = await seat([{ text: "a" }], { wire: openaiResponsesWire });
  await say("one");
  expect(models.requests[0]?.body).toMatchObject({ store: false });
});

test("a thought goes back with its signature", async () => {
  const { say, models } = await seat([{ thinking: "hm", text: "a" }, { text: "b" }], { wire: anthropicWire });
  await say("one");
  await say("two");
  expect(JSON.stringify(models.requests[1]?.body)).toContain('"signature":"signed"');
});

describe("a conversation that fills the context", () => {
  const full = { input: 7_900, output: 100 };

  test("is summed up, keeps its brief and its latest messages, and does so after a restart too", async () => {
    const script = [
      { text: "one" },
      { text: "two" },
      { text: "three", usage: full },
      { text: "SUMMARY" },
      { text: "four" },
    ];
    const { say, memory, models } = await seat(script, { agent: { options: { context_size: 10_000 } } });
    await say(`THE BRIEF ${"b".repeat(300)}`);
    await say(`second ${"s".repeat(300)}`);
    expect(eventsOf(await say("third"), "context")).toEqual([{ type: "context", used: 8000, size: 10_000 }]);
    const events = await say("fourth");
    expect(eventsOf(events, "compaction")).toHaveLength(1);
    expect(eventsOf(events, "usage")).toHaveLength(2);
    expect(endOf(events).usage).toMatchObject({ input: 200 });
    expect(models.requests[3]?.tools).toEqual([]);
    const sent = models.requests[4]?.transcript ?? [];
    expect(sent[0]).toMatch(/^user: THE BRIEF b+\n\n\[Summary of the conversation so far\]\nSUMMARY/);
    expect(sent.at(-1)).toContain("fourth");
    expect(sent.join()).not.toContain("second sss");
    const reopened = await seat([{ text: "five" }], { memory });
    await reopened.say("fifth");
    expect(reopened.models.requests[0]?.transcript.slice(0, sent.length)).toEqual(sent);
  });

  test("is not summed up again at once when it stays full", async () => {
    const { say, models } = await seat(
      (request) => (request.tools.length === 0 ? { text: "S" } : { text: "ok", usage: full }),
      { agent: { options: { context_size: 10_000 } } },
    );
    for (let n = 0; n < 8; n++) await say(`message ${n} ${"x".repeat(200)}`);
    expect(models.requests.filter((request) => request.tools.length === 0)).toHaveLength(2);
  });

  test("goes on when the summary fails", async () => {
    const { say } = await seat(
      (request) => (request.tools.length === 0 ? { status: 422, message: "no" } : { text: "ok", usage: full }),
      { agent: { options: { context_size: 10_000 } } },
    );
    await say("one");
    const events = await say("two");
    expect(eventsOf(events, "notice")).toMatchObject([{ text: expect.stringContaining("could not be summarised") }]);
    expect(endOf(events).reason).toBe("completed");
  });
});
