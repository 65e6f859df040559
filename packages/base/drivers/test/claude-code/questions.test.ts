/** What Claude Code asks, and how long it may stay silent. */

import type { Agent } from "@aegis/contract/agent.ts";
import type { DriverHostOptions } from "@aegis/test/helpers/driver-host.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { endOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import { claudeAgent, claudeUnderTest } from "./under-test.ts";

const minute = 60_000;

async function ask(prompt: string, permission: DriverHostOptions["permission"], more: Partial<Agent> = {}) {
  const options = permission === undefined ? {} : { permission };
  const bench = await createBench(claudeUnderTest(claudeAgent(more)), "asks", options);
  const { conversation } = await bench.open();
  return { bench, text: textOf(await runTurn(conversation, prompt)) };
}

test("a question about a tool says what it wants to do", async () => {
  const { bench } = await ask("do:asks", () => ({ decision: "deny", reason: "no" }));
  expect(bench.host.asked).toMatchObject([
    {
      call: expect.stringContaining("toolu_"),
      tool: "Bash",
      kind: "execute",
      title: "rm -rf /",
      input: { command: "rm -rf /" },
    },
  ]);
});

test("an answer may change the input, and lasts only for the session", async () => {
  const { text } = await ask("do:asks", () => ({ decision: "allow", scope: "session", input: { command: "ls" } }));
  expect(text).toContain('"updatedInput":{"command":"ls"}');
  expect(text).toContain('"updatedPermissions":[{"type":"addRules"');
  expect(text).toContain('"destination":"session"');
  expect(text).not.toContain("localSettings");
});

test("an answer for once changes no rule", async () => {
  const { text } = await ask("do:asks", () => ({ decision: "allow", scope: "once" }));
  expect(text).not.toContain("updatedPermissions");
});

test("a choice reaches the agent", async () => {
  const { text, bench } = await ask("do:question", (request) => ({
    decision: "allow",
    scope: "once",
    input: { ...(request.input as object), answers: { "Which?": "B" } },
  }));
  expect(JSON.parse(text)).toMatchObject({ behavior: "allow", updatedInput: { answers: { "Which?": "B" } } });
  expect(bench.host.asked[0]).toMatchObject({ tool: "AskUserQuestion", title: "Which?" });
});

test("consent without a choice is no answer", async () => {
  const { text } = await ask("do:question", () => ({ decision: "allow", scope: "once" }));
  expect(JSON.parse(text)).toMatchObject({ behavior: "deny" });
});

test("an agent that may only read cannot leave the planning mode, even with consent", async () => {
  const { text, bench } = await ask("do:exitPlan", () => ({ decision: "allow", scope: "once" }), {
    permission: "read",
  });
  expect(JSON.parse(text)).toMatchObject({ behavior: "deny" });
  expect(bench.host.asked).toEqual([]);
});

test("a question that Claude Code takes back is withdrawn while the turn goes on", async () => {
  const withdrawn = Promise.withResolvers<void>();
  const { bench, text } = await ask("do:withdraws", async (request, signal) => {
    if (request.title === "first") signal.addEventListener("abort", () => withdrawn.resolve());
    await withdrawn.promise;
    return { decision: "allow", scope: "once" };
  });
  expect(bench.host.asked.map((request) => request.title)).toEqual(["first", "second"]);
  expect(text).toBe("pong");
});

test("a form is filled or declined, never sent half empty", async () => {
  const filled = await ask("do:form", () => ({ decision: "allow", scope: "once", input: { name: "Bob" } }));
  expect(JSON.parse(filled.text)).toEqual({ action: "accept", content: { name: "Bob" } });
  const empty = await ask("do:form", () => ({ decision: "allow", scope: "once" }));
  expect(JSON.parse(empty.text)).toEqual({ action: "decline" });
});

async function silentTurn(prompt: string, permission?: DriverHostOptions["permission"]) {
  const clock = fakeClock(Date.now());
  const agent = claudeAgent({ options: { ...claudeAgent().options, inactivity_minutes: 5 } });
  const bench = await createBench(
    claudeUnderTest(agent, { clock }),
    "hang",
    permission === undefined ? {} : { permission },
  );
  const { conversation } = await bench.open();
  return { clock, bench, turn: watchTurn(conversation, prompt) };
}

test("a harness that goes silent is interrupted, and the turn fails as a timeout", async () => {
  const { clock, turn } = await silentTurn("do:hang");
  await turn.seen("mode");
  await clock.sleepers(1);
  await clock.advance(6 * minute);
  expect(endOf(await turn.done)).toMatchObject({ reason: "failed", error: { code: "timeout" } });
});

test("a tool at work is no silence", async () => {
  const { clock, turn } = await silentTurn("do:busy");
  await turn.seen("tool_call");
  await clock.sleepers(1);
  await clock.advance(60 * minute);
  expect(turn.events.at(-1)?.type).not.toBe("turn.ended");
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
});

test("a person who thinks is no silence", async () => {
  const answer = Promise.withResolvers<{ decision: "deny"; reason: string }>();
  const { clock, bench, turn } = await silentTurn("do:form", () => answer.promise);
  await bench.host.arrived("asked", 1);
  await clock.sleepers(1);
  await clock.advance(60 * minute);
  answer.resolve({ decision: "deny", reason: "no" });
  expect(endOf(await turn.done).reason).toBe("completed");
});
