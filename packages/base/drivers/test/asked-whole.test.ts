/** With every harness, a person is asked with the whole command and every change of a file. */

import { type DriverHostOptions, driverHost } from "@aegis/test/helpers/driver-host.ts";
import { describe, expect, it } from "vitest";
import { askHost } from "../src/acp/permissions.ts";
import { gemini } from "../src/acp/recipes/gemini.ts";
import { applyPatch } from "../src/acp/tool-calls.ts";
import { answerHook } from "../src/claude-code/hooks.ts";
import { answerRequest as answerClaude } from "../src/claude-code/permissions.ts";
import { answerRequest as answerCodex } from "../src/codex/approvals.ts";
import type { PermissionRequest } from "../src/driver.ts";
import { bashTool } from "../src/native/tools/bash.ts";
import { editTool } from "../src/native/tools/edit.ts";
import type { Tool } from "../src/native/tools/tool.ts";
import { writeTool } from "../src/native/tools/write.ts";

const signal = new AbortController().signal;
const command = `echo ${"long ".repeat(100)}; rm -rf /`;

async function asked(
  act: (host: ReturnType<typeof driverHost>) => Promise<unknown>,
  options: DriverHostOptions = {},
): Promise<PermissionRequest> {
  const host = driverHost(options);
  await act(host);
  const [request] = host.asked;
  if (request === undefined) throw new Error("nobody was asked");
  return request;
}

function claude(tool_name: string, input: object, more: object = {}): Promise<PermissionRequest> {
  const request = { subtype: "can_use_tool", tool_name, input, tool_use_id: "toolu_1", ...more };
  return asked((host) => answerClaude(request, "auto", host, signal));
}

function codex(method: string, params: object, changes: unknown[] = []): Promise<PermissionRequest> {
  const onDenial = () => {};
  return asked((host) =>
    answerCodex({
      method,
      params: { ...params },
      changes,
      host,
      permission: "auto",
      cwd: "/p",
      terminals: false,
      onDenial,
      signal,
    }),
  );
}

function acp(toolCall: object): Promise<PermissionRequest> {
  const call = applyPatch(undefined, { toolCallId: "t1", ...toolCall } as Parameters<typeof applyPatch>[1]);
  return asked((host) => askHost(host, call, gemini, null, signal));
}

function prepared(tool: Tool, input: object) {
  const call = tool.prepare(input);
  if ("problem" in call) throw new Error(call.problem);
  return call;
}

describe("the whole command", () => {
  it("of Claude Code, and why it asks", async () => {
    const request = await claude("Bash", { command }, { decision_reason: "outside the sandbox" });
    expect(request).toMatchObject({ title: command, input: { command }, reason: "outside the sandbox" });
  });

  it("of Codex, with its reason and folder", async () => {
    const params = { itemId: "c", command, reason: "needs the network", cwd: "/p/sub" };
    const request = await codex("item/commandExecution/requestApproval", params);
    expect(request).toMatchObject({ title: command, input: { command }, reason: "needs the network", cwd: "/p/sub" });
  });

  it("of an ACP agent, whatever its title says", async () => {
    const request = await acp({ title: "List files", kind: "execute", rawInput: { command } });
    expect(request).toMatchObject({ title: "List files", input: { command } });
  });

  it("of the native agent", () => {
    expect(prepared(bashTool(), { command }).question).toBe(command);
    expect(prepared(bashTool(), { command }).title.length).toBeLessThanOrEqual(100);
  });
});

describe("every change", () => {
  const [before, after] = ["one\ntwo\n", "one\n2\n"];

  it.each([
    ["Edit", { file_path: "a", old_string: before, new_string: after }, [{ path: "a", before, after, part: true }]],
    [
      "MultiEdit",
      {
        file_path: "a",
        edits: [
          { old_string: "1", new_string: "2" },
          { old_string: "3", new_string: "4" },
        ],
      },
      [
        { path: "a", before: "1", after: "2", part: true },
        { path: "a", before: "3", after: "4", part: true },
      ],
    ],
    ["Write", { file_path: "a", content: after }, [{ path: "a", after }]],
    ["NotebookEdit", { notebook_path: "n", new_source: after }, [{ path: "n", before: null, after, part: true }]],
  ])("of Claude Code's %s", async (tool, input, changes) => {
    const request = await claude(tool, input);
    expect(request.changes).toEqual(changes);
    expect(request.files?.(input)).toEqual({ reads: [], changes });
  });

  it("of a patch of Codex, its hunks as they are", async () => {
    const changes = [
      { path: "new", kind: { type: "add" }, diff: "hello\n" },
      { path: "gone", kind: { type: "delete" }, diff: "bye\n" },
      { path: "old", kind: { type: "update", move_path: "moved" }, diff: "@@ -1 +1 @@\n-a\n+b\n" },
    ];
    const request = await codex("item/fileChange/requestApproval", { itemId: "p", reason: "as asked" }, changes);
    expect(request.changes).toEqual([
      { path: "new", after: "hello\n" },
      { path: "gone", before: "bye\n", after: null },
      { path: "old → moved", patch: "@@ -1 +1 @@\n-a\n+b\n" },
    ]);
    expect(request.files?.(request.input).changes).toEqual([
      { path: "new", after: "hello\n" },
      { path: "gone", before: "bye\n", after: null },
      { path: "old", patch: "@@ -1 +1 @@\n-a\n+b\n" },
      { path: "moved", after: "" },
    ]);
    expect(request.reason).toBe("as asked");
  });

  it("of an ACP agent, beside the arguments it gives", async () => {
    const content = ["a", "b"].map((path) => ({ type: "diff", path, oldText: before, newText: after }));
    const request = await acp({ title: "Edit", kind: "edit", rawInput: { path: "a" }, content });
    expect(request.input).toEqual({ path: "a" });
    expect(request.changes).toEqual(["a", "b"].map((path) => ({ path, before, after })));
    expect(request.files?.(request.input).changes).toEqual(request.changes);
    const hidden = await acp({ title: "Edit", kind: "edit", locations: [{ path: "a" }] });
    expect(hidden.files?.(hidden.input).changes).toEqual([{ path: "a", after: "" }]);
    const read = await acp({ title: "Read", kind: "read", locations: [{ path: "a" }] });
    expect(read.files?.(read.input)).toEqual({ reads: ["a"] });
  });

  it("of the native agent", () => {
    expect(prepared(editTool(), { path: "a", old_text: before, new_text: after }).changes).toEqual([
      { path: "a", before, after, part: true },
    ]);
    expect(prepared(writeTool(), { path: "a", content: after }).changes).toEqual([{ path: "a", after }]);
  });

  it("is left out when a plugin rewrote the input it was read from", async () => {
    const input = { file_path: "a", content: "harmless" };
    const rewritten = { file_path: "a", content: "other" };
    const callback = {
      subtype: "hook_callback",
      input: { hook_event_name: "PreToolUse", tool_name: "Write", tool_use_id: "t", tool_input: input },
    };
    const request = await asked((host) => answerHook(callback, host, signal), {
      beforeTool: () => ({ decision: "ask", reason: "look at it", input: rewritten }),
    });
    expect(request).toMatchObject({ input: rewritten, gate: true, reason: "look at it" });
    expect(request.changes).toBeUndefined();
  });
});

it.each([
  ["where plugins judge calls, so that it asks again", true, "accept"],
  ["elsewhere as it was given", false, "acceptForSession"],
])(
  "an approval for the session reaches a harness that can only be stopped when it asks: %s",
  async (_where, gated, decision) => {
    const host = driverHost({
      permission: () => ({ decision: "allow", scope: "session" }),
      ...(gated ? { beforeTool: () => ({ decision: "allow" }) as const } : {}),
    });
    const asked = {
      method: "item/commandExecution/requestApproval",
      params: { itemId: "c", command: "make" },
      changes: [],
    };
    const more = { host, permission: "auto" as const, cwd: "/p", terminals: false, onDenial() {}, signal };
    expect(await answerCodex({ ...asked, ...more })).toEqual({ decision });
  },
);

it("a callback of Claude Code that waits for a person is denied before it runs out, which would let the tool run", async () => {
  const callback = {
    subtype: "hook_callback",
    input: { hook_event_name: "PreToolUse", tool_name: "Bash", tool_use_id: "t", tool_input: { command } },
  };
  const request = await asked((host) => answerHook(callback, host, signal), {
    beforeTool: () => ({ decision: "ask", reason: null }),
  });
  expect(request.withinMs).toBeLessThan(24 * 3_600_000);
});
