/** Codex is held to its profile's tools: it is not offered what can be switched off, and refused the rest where it asks. */

import type { Agent } from "@aegis/contract/agent.ts";
import type { DriverHostOptions } from "@aegis/test/helpers/driver-host.ts";
import { runTurn, textOf } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { describe, expect, test } from "vitest";
import { codexAgent, codexUnderTest } from "./under-test.ts";

async function open(agent: Partial<Agent>, host: DriverHostOptions = {}) {
  const under = codexUnderTest(codexAgent({ permission: "full", ...agent }));
  const bench = await createBench(under, "asks", { permission: () => ({ decision: "allow", scope: "once" }), ...host });
  return { bench, conversation: (await bench.open()).conversation };
}

async function paramsOf(agent: Partial<Agent>, host: DriverHostOptions = {}): Promise<Params> {
  const { conversation } = await open(agent, host);
  return (JSON.parse(textOf(await runTurn(conversation, "do:self"))) as { params: Params }).params;
}
type Params = { approvalPolicy: string; config: Record<string, unknown> };

describe("a command", () => {
  test("of an agent without a shell is refused with the reason of its scope", async () => {
    const { bench, conversation } = await open({ deny_tools: ["bash"] });
    expect(textOf(await runTurn(conversation, "do:deniedSteered"))).toContain(
      "Tool 'bash' is not available to agent 'codex': its deny_tools name it (bash)",
    );
    expect(bench.host.asked).toEqual([]);
  });

  test("that only looks counts as reading, and needs no ask", async () => {
    const { bench, conversation } = await open({ tools: ["read"], permission: "auto" });
    const run = async (command: string) => {
      const params = { itemId: "i", command: `/bin/bash -lc '${command}'` };
      const question = `do:question item/commandExecution/requestApproval ${JSON.stringify(params)}`;
      return textOf(await runTurn(conversation, question));
    };
    expect(await run("cat a.txt")).toBe('{"decision":"accept"}');
    expect(await run("ls")).toBe('{"decision":"decline"}');
    expect(await run("cat a.txt > b.txt")).toBe('{"decision":"decline"}');
    expect(bench.host.asked).toEqual([]);
  });

  test("of an agent whose tools name it runs", async () => {
    const { conversation } = await open({ tools: ["Bash"] });
    expect(textOf(await runTurn(conversation, "do:asks"))).toBe("allowed accept");
  });
});

describe("a patch", () => {
  test.each([
    { tools: ["read"], type: "update", decision: "decline" },
    { tools: ["edit"], type: "update", decision: "accept" },
    { tools: ["edit"], type: "add", decision: "decline" },
    { tools: ["edit"], type: "delete", decision: "decline" },
    { tools: ["edit", "write"], type: "add", decision: "accept" },
  ])("with $tools that would $type a file: $decision", async ({ tools, type, decision }) => {
    const { conversation } = await open({ tools });
    expect(textOf(await runTurn(conversation, `do:patches a.txt ${type}`))).toBe(decision);
  });

  test("that does not say what it changes needs both tools", async () => {
    const { conversation } = await open({ tools: ["edit"] });
    const question = `do:question item/fileChange/requestApproval {"itemId":"i"}`;
    expect(textOf(await runTurn(conversation, question))).toBe('{"decision":"decline"}');
  });
});

test("a call of the plane is left to the plane", async () => {
  const { conversation } = await open({ tools: ["read"] });
  const params = { serverName: "aegis", message: "?", _meta: { codex_approval_kind: "mcp_tool_call" } };
  const answer = textOf(
    await runTurn(conversation, `do:question mcpServer/elicitation/request ${JSON.stringify(params)}`),
  );
  expect(JSON.parse(answer)).toMatchObject({ action: "accept" });
});

describe("a thread", () => {
  test("asks about everything when the agent may not do everything", async () => {
    expect((await paramsOf({})).approvalPolicy).toBe("never");
    expect((await paramsOf({ deny_tools: ["edit"] })).approvalPolicy).toBe("untrusted");
    // Codex has no such tool, so nothing changes for it.
    expect((await paramsOf({ deny_tools: ["todo"] })).approvalPolicy).toBe("never");
  });

  test("asks with full rights where Aegis guards its own files, and keeps its sandbox otherwise", async () => {
    expect((await paramsOf({}, { guarded: [".aegis"] })).approvalPolicy).toBe("untrusted");
    expect((await paramsOf({ permission: "write" }, { guarded: [".aegis"] })).approvalPolicy).toBe("on-request");
    const beforeTool = () => ({ decision: "ask", reason: "own files", once: true }) as const;
    const permission = () => ({ decision: "deny", reason: "no" }) as const;
    const { bench, conversation } = await open({}, { guarded: [".aegis"], beforeTool, permission });
    expect(textOf(await runTurn(conversation, "do:asks"))).toBe("denied decline");
    expect(bench.host.asked).toMatchObject([{ once: true }]);
  });

  test.each([
    { agent: {}, shell: undefined, pictures: undefined, search: undefined },
    { agent: { tools: ["read"] }, shell: undefined, pictures: undefined, search: "disabled" },
    { agent: { tools: ["edit", "write"] }, shell: false, pictures: false, search: "disabled" },
    { agent: { deny_tools: ["bash", "read", "grep", "ls"] }, shell: false, pictures: false, search: undefined },
    { agent: { tools: ["Bash", "WebSearch"] }, shell: undefined, pictures: false, search: undefined },
  ])(
    "$agent: the shell is $shell, pictures $pictures, the search $search",
    async ({ agent, shell, pictures, search }) => {
      const { config } = await paramsOf(agent);
      expect(config["features.shell_tool"]).toBe(shell);
      expect(config.web_search).toBe(search);
      expect(config["features.view_image"]).toBe(pictures);
    },
  );
});
