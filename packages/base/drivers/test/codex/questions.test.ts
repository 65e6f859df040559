/** What Codex asks, and how the answers reach it. */

import { runTurn, textOf } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import type { PermissionAnswer, PermissionRequest } from "../../src/driver.ts";
import { codexAgent, codexUnderTest } from "./under-test.ts";

type Answer = (request: PermissionRequest) => PermissionAnswer;

const yes: Answer = () => ({ decision: "allow", scope: "once" });
const no: Answer = () => ({ decision: "deny", reason: "no" });

async function ask(prompt: string, permission: Answer) {
  const bench = await createBench(codexUnderTest(), "asks", { permission });
  const { conversation } = await bench.open();
  return { asked: bench.host.asked, text: textOf(await runTurn(conversation, prompt)) };
}

async function answerTo(method: string, params: unknown, permission: Answer) {
  const { asked, text } = await ask(`do:question ${method} ${JSON.stringify(params)}`, permission);
  return { asked, answer: JSON.parse(text) as Record<string, unknown> };
}

test("a command is asked for by what it runs", async () => {
  const { asked, text } = await ask("do:asks", yes);
  expect(asked).toMatchObject([{ tool: "shell", kind: "execute", title: "rm -rf /", input: { command: "rm -rf /" } }]);
  expect(text).toBe("allowed accept");
});

test("consent for the session is passed on", async () => {
  expect((await ask("do:asks", () => ({ decision: "allow", scope: "session" }))).text).toBe("allowed acceptForSession");
});

test("consent to something else is a refusal, because Codex cannot change what it asked for", async () => {
  const changed: Answer = () => ({ decision: "allow", scope: "once", input: { command: "ls" } });
  expect((await ask("do:asks", changed)).text).toBe("denied decline");
});

test("consent for good is not used where it would write a rule", async () => {
  const params = {
    itemId: "i",
    command: "touch a",
    availableDecisions: ["accept", { acceptWithExecpolicyAmendment: {} }],
  };
  const lasting: Answer = () => ({ decision: "allow", scope: "session" });
  const { answer } = await answerTo("item/commandExecution/requestApproval", params, lasting);
  expect(answer).toEqual({ decision: "accept" });
});

test("a change of files is asked for", async () => {
  const { asked, answer } = await answerTo("item/fileChange/requestApproval", { itemId: "i", reason: "outside" }, no);
  expect(asked).toMatchObject([{ call: "i", tool: "apply_patch", kind: "edit", title: "outside" }]);
  expect(answer).toEqual({ decision: "decline" });
});

const approval = {
  serverName: "files",
  mode: "form",
  message: "Allow files to run delete?",
  requestedSchema: { type: "object", properties: {} },
  _meta: { codex_approval_kind: "mcp_tool_call" },
};

test("a call of an MCP tool is asked for in the form of a form", async () => {
  const allowed = await answerTo("mcpServer/elicitation/request", approval, yes);
  expect(allowed.asked).toMatchObject([{ tool: "mcp__files", title: "Allow files to run delete?" }]);
  expect(allowed.answer).toEqual({ action: "accept", content: {}, _meta: null });
  expect((await answerTo("mcpServer/elicitation/request", approval, no)).answer.action).toBe("decline");
});

test("a real form is filled or declined, never sent half empty", async () => {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const form = { serverName: "files", mode: "form", message: "Your name?", requestedSchema, _meta: null };
  const bob: Answer = () => ({ decision: "allow", scope: "once", input: { name: "Bob" } });
  const filled = await answerTo("mcpServer/elicitation/request", form, bob);
  expect(filled.answer).toEqual({ action: "accept", content: { name: "Bob" }, _meta: null });
  expect((await answerTo("mcpServer/elicitation/request", form, yes)).answer.action).toBe("decline");
});

test("a choice is put to a person, and no answer leaves it to the model", async () => {
  const params = {
    itemId: "i",
    questions: [{ id: "q1", question: "Which?", options: [{ label: "A" }, { label: "B" }] }],
  };
  const chosen: Answer = () => ({ decision: "allow", scope: "once", input: { answers: { "Which?": "B" } } });
  const { asked, answer } = await answerTo("item/tool/requestUserInput", params, chosen);
  expect(asked).toMatchObject([{ tool: "request_user_input", title: "Which?" }]);
  expect(answer).toEqual({ answers: { q1: { answers: ["B"] } } });
  expect((await answerTo("item/tool/requestUserInput", params, no)).answer).toEqual({ answers: {} });
});

test("more rights are granted as asked for, or not at all", async () => {
  const params = { itemId: "i", reason: "download", permissions: { network: { enabled: true } } };
  const granted = await answerTo("item/permissions/requestApproval", params, yes);
  expect(granted.answer).toEqual({ permissions: { network: { enabled: true } }, scope: "turn" });
  const { answer } = await answerTo("item/permissions/requestApproval", params, no);
  expect(answer).toEqual({ permissions: {}, scope: "turn" });
});

test("the reason of a denial follows as a message in the same turn", async () => {
  const bench = await createBench(codexUnderTest(), "asks", {
    beforeTool: () => ({ decision: "deny", reason: "never on a Sunday" }),
  });
  const { conversation } = await bench.open();
  expect(textOf(await runTurn(conversation, "do:deniedSteered"))).toContain(
    "also: [Aegis: your call was denied: never on a Sunday]",
  );
});

test("the reason of a denial that the turn did not take comes with the next prompt", async () => {
  const bench = await createBench(codexUnderTest(), "asks", { permission: no });
  const { conversation } = await bench.open();
  await runTurn(conversation, "do:deniedLast");
  expect(textOf(await runTurn(conversation, "do:echo"))).toBe("[Aegis: your call was denied: no]\n\ndo:echo");
});

test("plugins see which files a patch is about, and an agent that may write them is not asked", async () => {
  const judged: unknown[] = [];
  const agent = codexAgent({ permission: "write" });
  const bench = await createBench(codexUnderTest(agent), "asks", {
    beforeTool: (use) => {
      judged.push(use.input);
      return { decision: "allow" };
    },
  });
  const { conversation } = await bench.open();
  expect(textOf(await runTurn(conversation, "do:patches a.txt"))).toBe("accept");
  expect(judged).toMatchObject([{ changes: [{ path: "a.txt" }] }]);
  expect(bench.host.asked).toEqual([]);
  expect(textOf(await runTurn(conversation, "do:patches /etc/passwd"))).toBe("decline");
  expect(bench.host.asked).toHaveLength(1);
});
