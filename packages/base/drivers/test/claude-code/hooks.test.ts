/** What plugins say of Claude Code's own tool calls, in the words of its callbacks. */

import type { DriverHostOptions } from "@aegis/test/helpers/driver-host.ts";
import { runTurn, textOf } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import { claudeUnderTest } from "./under-test.ts";

/** What the CLI is told before and after a call; a response with `!` is an error. */
async function hooks(tool: string, input: object, response: unknown, options: DriverHostOptions) {
  const bench = await createBench(claudeUnderTest(), "asks", options);
  const { conversation } = await bench.open();
  const given = typeof response === "string" && response.startsWith("!") ? response : JSON.stringify(response);
  const text = textOf(await runTurn(conversation, `do:hooks ${tool} ${JSON.stringify(input)} ${given}`));
  return { bench, ...(JSON.parse(text) as { before: unknown; after: unknown }) };
}

const command = { command: "ls" };
const printed = { stdout: "a", stderr: "", interrupted: false };

test("without an objection the CLI's own rules go on", async () => {
  const { before, after, bench } = await hooks("Bash", command, printed, {});
  expect({ before, after }).toEqual({ before: {}, after: {} });
  expect(bench.host.asked).toEqual([]);
});

test("a denial carries its reason", async () => {
  const { before } = await hooks("Bash", command, printed, {
    beforeTool: () => ({ decision: "deny", reason: "not here" }),
  });
  expect(before).toMatchObject({ permissionDecision: "deny", permissionDecisionReason: "not here" });
});

test("a changed input leaves the decision to the CLI's own rules", async () => {
  const { before } = await hooks("Bash", command, printed, {
    beforeTool: () => ({ decision: "allow", input: { command: "pwd" } }),
  });
  expect(before).toEqual({ hookEventName: "PreToolUse", updatedInput: { command: "pwd" } });
});

test("what a plugin wants asked is asked, and the answer decides", async () => {
  const beforeTool = () => ({ decision: "ask" as const, reason: "is that wise" });
  const yes = await hooks("Bash", command, printed, {
    beforeTool,
    permission: () => ({ decision: "allow", scope: "once" }),
  });
  expect(yes.before).toEqual({ hookEventName: "PreToolUse", permissionDecision: "allow" });
  expect(yes.bench.host.asked).toMatchObject([{ tool: "Bash", kind: "execute", title: "ls (is that wise)" }]);
  const no = await hooks("Bash", command, printed, { beforeTool });
  expect(no.before).toMatchObject({ permissionDecision: "deny" });
});

test("calls of the team's tools are judged by the plane alone", async () => {
  const judged: string[] = [];
  const note = (use: { tool: string }) => {
    judged.push(use.tool);
    return null;
  };
  await hooks("mcp__aegis__aegis_meta", {}, "meta", {
    beforeTool: (use) => {
      note(use);
      return { decision: "deny", reason: "no" };
    },
    afterTool: note,
  });
  expect(judged).toEqual([]);
});

test.each([
  ["a command's output", printed, "a", { ...printed, stdout: "other" }],
  ["text", "plain", "plain", "other"],
  ["an MCP answer", [{ type: "text", text: "x" }], "x", [{ type: "text", text: "other" }]],
  [
    "a file",
    { type: "text", file: { filePath: "/a", content: "f" } },
    "f",
    { type: "text", file: { filePath: "/a", content: "other" } },
  ],
])("a changed result keeps the shape of %s", async (_name, response, seen, changed) => {
  const outputs: string[] = [];
  const { after } = await hooks("Tool", {}, response, {
    afterTool: (_use, { output }) => {
      outputs.push(output);
      return "other";
    },
  });
  expect(outputs).toEqual([seen]);
  expect(after).toEqual({ hookEventName: "PostToolUse", updatedToolOutput: changed });
});

test("where the shape is not known, or the tool failed, the text is added", async () => {
  const options = { afterTool: () => "other" };
  expect((await hooks("Tool", {}, { count: 3 }, options)).after).toMatchObject({ additionalContext: "other" });
  expect((await hooks("Tool", {}, "!broken", options)).after).toEqual({
    hookEventName: "PostToolUseFailure",
    additionalContext: "other",
  });
});
