/** What Claude Code's stream becomes, beyond what every driver promises. */

import { endOf, eventsOf, runTurn, textOf, watchEvents, watchTurn } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import { claudeAgent, claudeUnderTest } from "./under-test.ts";

async function say(prompt: string, more: Parameters<typeof claudeAgent>[0] = {}) {
  const bench = await createBench(claudeUnderTest(claudeAgent(more)), "reply");
  const { conversation } = await bench.open();
  return { bench, conversation, events: await runTurn(conversation, prompt) };
}

test("an edit shows its change, before and after", async () => {
  const { events } = await say("do:edit");
  expect(eventsOf(events, "tool_call")).toMatchObject([
    { name: "Write", kind: "edit", title: "Write /w/a.txt", diff: { path: "/w/a.txt", before: null, after: "new" } },
    { name: "Edit", locations: [{ path: "/w/b.txt" }], diff: { path: "/w/b.txt", before: "x", after: "$&" } },
  ]);
  expect(eventsOf(events, "tool_result").map((result) => result.diff)).toEqual([
    { path: "/w/a.txt", before: "old", after: "new" },
    { path: "/w/b.txt", before: "axb", after: "a$&b" },
  ]);
});

test("a shell call has its command as title and its output as text", async () => {
  const { events } = await say("do:tool");
  expect(eventsOf(events, "tool_call")[0]).toMatchObject({ kind: "execute", title: "echo hi", parent: null });
  expect(eventsOf(events, "tool_result")[0]).toMatchObject({ output: "hi\n[image]" });
});

test("a to-do list is a plan", async () => {
  const { events } = await say("do:plan");
  expect(eventsOf(events, "plan")).toEqual([
    {
      type: "plan",
      entries: [
        { text: "look", status: "completed" },
        { text: "leap", status: "in_progress" },
      ],
    },
  ]);
});

test("a subagent's calls name their parent, and its text is not the agent's", async () => {
  const { events } = await say("do:subagent");
  const [task, read] = eventsOf(events, "tool_call");
  expect(task).toMatchObject({ name: "Task", parent: null });
  expect(read).toMatchObject({ name: "Read", parent: task?.call, locations: [{ path: "/w/a.txt", line: 7 }] });
  expect(textOf(events)).toBe("done");
  expect(eventsOf(events, "text_delta").map((event) => event.text)).toEqual(["done"]);
  expect(eventsOf(events, "notice")).toEqual([]);
});

test("a compaction carries its summary", async () => {
  const { events } = await say("do:compact");
  expect(eventsOf(events, "compaction")).toEqual([{ type: "compaction", summary: "This is what happened before." }]);
});

test("thinking and text of one message have names of their own", async () => {
  const { events } = await say("do:think");
  const names = [...eventsOf(events, "thinking"), ...eventsOf(events, "text")].map((event) => event.message);
  expect(new Set(names).size).toBe(2);
});

test("usage is of the turn, and its cost the difference to the turn before", async () => {
  const { events, conversation, bench } = await say("do:reply");
  const usage = { input: 10, cache_read: 3, cache_write: 2, output: 5 };
  expect(endOf(events).usage).toEqual({ ...usage, cost: 0.25 });
  expect(endOf(await runTurn(conversation, "do:reply")).usage).toEqual({ ...usage, cost: 0.25 });
  // A resumed process continues to count from an unknown amount.
  const { conversation: resumed } = await bench.reopen();
  expect(endOf(await runTurn(resumed, "do:reply")).usage?.cost).toBeNull();
  expect(endOf(await runTurn(resumed, "do:reply")).usage?.cost).toBe(0.25);
});

test("how full the context is comes from the last message", async () => {
  const { events } = await say("do:reply");
  expect(eventsOf(events, "context")).toEqual([{ type: "context", used: 127, size: 200_000 }]);
});

test("model and mode are told when they change, and a changed profile changes the model", async () => {
  const agent = claudeAgent({ model: "claude-one" });
  const bench = await createBench(claudeUnderTest(agent), "reply");
  const { conversation } = await bench.open();
  const modes = async () => eventsOf(await runTurn(conversation, "do:reply"), "mode");
  expect(await modes()).toEqual([{ type: "mode", mode: "default", model: "claude-one" }]);
  expect(await modes()).toEqual([]);
  agent.model = "claude-two";
  expect(await modes()).toEqual([{ type: "mode", mode: "default", model: "claude-two" }]);
});

test.each([
  ["authentication_failed 0 Not logged in · Please run /login", "not_logged_in"],
  ["unknown 401 Failed to authenticate", "not_logged_in"],
  ["model_not_found 404 There's an issue with the selected model", "bad_model"],
  ["rate_limit 429 Request rejected (429)", "rate_limited"],
  ["server_error 529 Overloaded", "overloaded"],
  ["invalid_request 400 Prompt is too long", "context_overflow"],
  ["unknown 500 Internal server error", "model"],
])("a failed model call is told apart: %s", async (error, code) => {
  const { events, conversation } = await say(`do:error ${error}`);
  expect(endOf(events)).toMatchObject({ reason: "failed", error: { code } });
  // The CLI writes the error in the model's place; it is not what the agent said.
  expect(textOf(events)).toBe("");
  expect(conversation.alive).toBe(true);
});

test("an answer cut by a limit is truncated", async () => {
  expect(endOf((await say("do:truncate")).events).reason).toBe("truncated");
});

test("a message waits for a turn that the CLI started by itself", async () => {
  const { bench, conversation, events } = await say("do:spontaneous");
  expect(textOf(events)).toBe("pong");
  const next = await runTurn(conversation, "do:reply");
  expect(textOf(next)).toBe("pong");
  const [own] = bench.host.spontaneous;
  if (own === undefined) throw new Error("no spontaneous turn");
  expect(textOf(await watchEvents(own).done)).toBe("by myself");
});

test("a message that still waits for such a turn is cancelled without touching it", async () => {
  const answer = Promise.withResolvers<{ decision: "allow"; scope: "once" }>();
  const bench = await createBench(claudeUnderTest(), "reply", { permission: () => answer.promise });
  const { conversation } = await bench.open();
  await runTurn(conversation, "do:ownAsks");
  await bench.host.arrived("asked", 1);
  const [events] = bench.host.spontaneous;
  if (events === undefined) throw new Error("no spontaneous turn");
  const own = watchEvents(events);
  const turn = watchTurn(conversation, "do:reply");
  await new Promise((resolve) => setImmediate(resolve));
  turn.abort();
  expect(await turn.done).toMatchObject([{ type: "turn.ended", reason: "cancelled" }]);
  answer.resolve({ decision: "allow", scope: "once" });
  expect(endOf(await own.done).reason).toBe("completed");
  expect(textOf(await runTurn(conversation, "do:recall"))).toBe("prompts: 2");
});

test("a message that the CLI has not accepted yet is interrupted once it is", async () => {
  const bench = await createBench(claudeUnderTest(), "reply");
  const { conversation } = await bench.open();
  const turn = watchTurn(conversation, "do:queued");
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  expect(conversation.alive).toBe(true);
});

test("a process that hears no interrupt is ended after two seconds", { tags: "slow" }, async () => {
  const bench = await createBench(claudeUnderTest(), "reply");
  const { conversation } = await bench.open();
  const turn = watchTurn(conversation, "do:deaf");
  await turn.seen("accepted");
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  expect(conversation.alive).toBe(false);
});

test("a line longer than any message ends the turn as a broken protocol", async () => {
  const { events, conversation } = await say("do:monster");
  expect(endOf(events)).toMatchObject({ reason: "failed", error: { code: "protocol" } });
  expect(conversation.alive).toBe(false);
});

test("a CLI that does not report when it takes a message up is still understood", async () => {
  const { events } = await say("do:reply", { env: { FIXTURE_START: "old" }, effort: null });
  expect(events[0]).toEqual({ type: "accepted" });
  expect(textOf(events)).toBe("pong");
});
