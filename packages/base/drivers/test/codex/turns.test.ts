/** What Codex's stream becomes, beyond what every driver promises. */

import type { Agent } from "@aegis/contract/agent.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { additionOf, endOf, eventsOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import { failureOf } from "../../src/codex/translate.ts";
import { codexAgent, codexUnderTest } from "./under-test.ts";

const minute = 60_000;

async function say(prompt: string, more: Partial<Agent> = {}) {
  const bench = await createBench(codexUnderTest(codexAgent(more)), "reply");
  const { conversation } = await bench.open();
  return { bench, conversation, events: await runTurn(conversation, prompt) };
}

test("calls are shown by what they do", async () => {
  const { events } = await say("do:tools");
  expect(eventsOf(events, "tool_call")).toMatchObject([
    { name: "shell", kind: "read", title: "cat a", locations: [{ path: "/w/a" }] },
    { name: "shell", kind: "execute", title: "false", input: { command: "false", cwd: "/w" } },
    { name: "mcp__aegis__echo", kind: "other", input: { text: "hi" } },
    { name: "mcp__aegis__fail" },
    { name: "web_search", kind: "fetch", title: "search cats" },
  ]);
  expect(eventsOf(events, "tool_result")).toMatchObject([
    { output: "text", is_error: false },
    { output: "oh\n[exit code 1]", is_error: true },
    { output: "echo: hi", is_error: false },
    { output: "deliberate", is_error: true },
    { is_error: false },
  ]);
});

test("a patch is one call per file, each with its change", async () => {
  const { events } = await say("do:patch");
  expect(eventsOf(events, "tool_call").map((call) => call.diff)).toEqual([
    { path: "/w/a", before: null, after: "new\n" },
    { path: "/w/b", before: "same\nold", after: "same\nyoung" },
  ]);
  expect(eventsOf(events, "tool_result").map((result) => result.diff?.path)).toEqual(["/w/a", "/w/b"]);
});

test("a plan and the name of the thread are kept", async () => {
  const { events } = await say("do:plan");
  expect(eventsOf(events, "title")).toEqual([{ type: "title", title: "Look, then leap" }]);
  expect(eventsOf(events, "plan")[0]?.entries).toEqual([
    { text: "look", status: "completed" },
    { text: "leap", status: "in_progress" },
  ]);
});

test("a subagent's calls name their parent, and its text is not the agent's", async () => {
  const { events } = await say("do:subagent");
  const [spawned, inner] = eventsOf(events, "tool_call");
  expect(inner).toMatchObject({ title: "ls", parent: spawned?.call });
  expect(textOf(events)).toBe("done");
});

test("a compaction is told", async () => {
  expect(eventsOf((await say("do:compact")).events, "compaction")).toHaveLength(1);
});

test("usage is of the turn, also after the thread was resumed", async () => {
  const { events, conversation, bench } = await say("do:reply");
  const usage = { input: 8, cache_read: 2, cache_write: 0, output: 5, cost: null };
  expect(endOf(events).usage).toEqual(usage);
  expect(eventsOf(events, "context")).toEqual([{ type: "context", used: 15, size: 258_400 }]);
  expect(endOf(await runTurn(conversation, "do:reply")).usage).toEqual(usage);
  const { conversation: resumed } = await bench.reopen();
  expect(endOf(await runTurn(resumed, "do:reply")).usage).toEqual(usage);
});

test.each([
  ['"unauthorized"', "not_logged_in"],
  ['{"httpConnectionFailed":{"httpStatusCode":401}}', "not_logged_in"],
  ['"modelNotFound"', "bad_model"],
  ['{"responseTooManyFailedAttempts":{"httpStatusCode":429}}', "rate_limited"],
  ['"usageLimitExceeded"', "rate_limited"],
  ['"serverOverloaded"', "overloaded"],
  ['"contextWindowExceeded"', "context_overflow"],
  ['"somethingNew"', "model"],
])("a failed model call is told apart: %s", async (info, code) => {
  const { events, conversation } = await say(`do:error ${info}`);
  expect(endOf(events)).toMatchObject({ reason: "failed", error: { code, message: "it did not work" } });
  expect(conversation.alive).toBe(true);
});

test("a key that Codex misses is named, with the place for it", () => {
  const { error } = failureOf({ message: "Missing environment variable: `MY_KEY`.", codexErrorInfo: "other" });
  expect(error).toMatchObject({
    code: "not_logged_in",
    fix: expect.stringContaining("set MY_KEY in the agent's `env`"),
  });
});

test("an attempt that is repeated is a notice, not a failure", async () => {
  const { events } = await say("do:retry");
  expect(eventsOf(events, "notice")).toMatchObject([{ level: "warning" }]);
  expect(endOf(events).reason).toBe("completed");
});

test("the prompt is accepted when Codex has recorded it", async () => {
  const { events } = await say("do:reply");
  expect(eventsOf(events, "accepted")).toHaveLength(1);
  expect(events.findIndex((event) => event.type === "accepted")).toBeLessThan(
    events.findIndex((event) => event.type === "text_delta"),
  );
});

test("text can join the turn in progress", async () => {
  const bench = await createBench(codexUnderTest(), "reply");
  const { conversation } = await bench.open();
  const turn = watchTurn(conversation, "do:steered");
  await turn.seen("text_delta");
  expect(await conversation.steer?.(additionOf("and the cat"))).toBe(true);
  expect(textOf(await turn.done)).toBe("also: and the cat");
});

test("the model is repeated with every turn, also when the profile leaves it to Codex", async () => {
  const { events, bench } = await say("do:self");
  expect(JSON.parse(textOf(events)).model).toBe("default-model");
  const { conversation } = await bench.reopen();
  const { model, params } = JSON.parse(textOf(await runTurn(conversation, "do:self")));
  expect([model, params.model]).toEqual(["default-model", "default-model"]);
});

test("a harness that goes silent is interrupted, and the turn fails as a timeout", async () => {
  const clock = fakeClock(Date.now());
  const bench = await createBench(codexUnderTest(codexAgent(), { clock }), "hang");
  const { conversation } = await bench.open();
  const turn = watchTurn(conversation, "do:hang");
  await turn.seen("accepted");
  await clock.sleepers(1);
  await clock.advance(21 * minute);
  expect(endOf(await turn.done)).toMatchObject({ reason: "failed", error: { code: "timeout" } });
});

test("a tool at work is no silence", async () => {
  const clock = fakeClock(Date.now());
  const bench = await createBench(codexUnderTest(codexAgent(), { clock }), "hang");
  const { conversation } = await bench.open();
  const turn = watchTurn(conversation, "do:busy");
  await turn.seen("tool_call");
  await clock.sleepers(1);
  await clock.advance(90 * minute);
  expect(turn.events.at(-1)?.type).not.toBe("turn.ended");
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
});

test("a server that hears no interrupt is ended after two seconds", { tags: "slow" }, async () => {
  const bench = await createBench(codexUnderTest(), "reply");
  const { conversation } = await bench.open();
  const turn = watchTurn(conversation, "do:deaf");
  await turn.seen("accepted");
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  expect(conversation.alive).toBe(false);
});
