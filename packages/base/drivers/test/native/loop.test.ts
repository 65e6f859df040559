/** How the loop runs tools, asks for permission and ends turns that go nowhere. */

import type { Permission } from "@aegis/contract/agent.ts";
import { googleWire } from "@aegis/test/helpers/fake-models/google.ts";
import type { FakeCall } from "@aegis/test/helpers/fake-models/wire.ts";
import { wires } from "@aegis/test/helpers/fake-models/wires.ts";
import { endOf, eventsOf, promptOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { describe, expect, test } from "vitest";
import { seat } from "./seat.ts";

const peerTool = { name: "ask_peer", description: "Ask", inputSchema: { type: "object" }, readOnly: false };
const lookTool = { ...peerTool, name: "list_peers", readOnly: true };

const call = (name: string, input: unknown, id = name): FakeCall => ({ id, name, input });

describe("calls", () => {
  test.each(wires.filter((wire) => wire !== googleWire))(
    "with arguments that are not JSON are told so over $api, and the loop goes on",
    async (wire) => {
      const { say, models } = await seat([{ calls: [call("read", '{"path": "a')] }, { text: "sorry" }], { wire });
      const events = await say("hello");
      expect(eventsOf(events, "tool_result")).toMatchObject([{ is_error: true }]);
      expect(eventsOf(events, "tool_result")[0]?.output).toContain("not valid JSON");
      expect(models.requests[1]?.transcript.at(-1)).toContain('{"path": "a');
      expect(textOf(events)).toBe("sorry");
    },
  );

  test.each(wires)("of an unknown tool name the nearest over $api", async (wire) => {
    const { say, models } = await seat([{ calls: [call("raed", { path: "a" })] }, { text: "sorry" }], { wire });
    expect(endOf(await say("hello")).reason).toBe("completed");
    expect(models.requests[1]?.transcript.at(-1)).toContain('No tool "raed" (did you mean "read"?)');
  });

  test("with wrong input say which field", async () => {
    const { say } = await seat([{ calls: [call("read", { file: "a" })] }, { text: "sorry" }]);
    expect(eventsOf(await say("hello"), "tool_result")[0]?.output).toContain("path: ");
  });

  test("with an id used before get a new one", async () => {
    const again = { calls: [call("ls", {}, "call_0")] };
    const { say, models } = await seat([
      again,
      { ...again, calls: [call("ls", { path: "." }, "call_0")] },
      { text: "ok" },
    ]);
    const events = await say("hello");
    expect(new Set(eventsOf(events, "tool_call").map((event) => event.call)).size).toBe(2);
    expect(models.requests[2]?.transcript.filter((line) => line.startsWith("result:"))).toHaveLength(2);
  });

  test("that only look run side by side, the others in order", async () => {
    const order: string[] = [];
    const gates = new Map([1, 2].map((n) => [`list_peers ${n}`, Promise.withResolvers<void>()]));
    const { conversation, host } = await seat(
      [
        {
          calls: [
            call("list_peers", { n: 1 }, "a"),
            call("list_peers", { n: 2 }, "b"),
            call("ask_peer", { n: 3 }, "c"),
            call("ask_peer", { n: 4 }, "d"),
          ],
        },
        { text: "done" },
      ],
      {
        host: {
          tools: [peerTool, lookTool],
          async callTool({ name, input }) {
            const label = `${name} ${(input as { n: number }).n}`;
            order.push(`${label} starts`);
            await gates.get(label)?.promise;
            order.push(`${label} ends`);
            return { output: label, is_error: false };
          },
        },
      },
    );
    const turn = watchTurn(conversation, "hello");
    await host.arrived("calls", 2);
    expect(order).toEqual(["list_peers 1 starts", "list_peers 2 starts"]);
    gates.get("list_peers 2")?.resolve();
    await turn.seen("tool_result");
    gates.get("list_peers 1")?.resolve();
    const events = await turn.done;
    expect(order.slice(2)).toEqual([
      "list_peers 2 ends",
      "list_peers 1 ends",
      "ask_peer 3 starts",
      "ask_peer 3 ends",
      "ask_peer 4 starts",
      "ask_peer 4 ends",
    ]);
    const remembered = eventsOf(events, "memory").map((event) => JSON.stringify(event.value));
    expect(remembered.map((value) => /"value":"(\w+ \d)"/.exec(value)?.[1]).filter(Boolean)).toEqual([
      "list_peers 1",
      "list_peers 2",
      "ask_peer 3",
      "ask_peer 4",
    ]);
  });

  test("that wait for other agents run side by side, those to one agent in order", async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const tool = { ...peerTool, sideBySide: { orderedBy: "to" } };
    const ask = (to: string, n: number) => call("ask_peer", { to, n }, `call_${n}`);
    const { conversation, host } = await seat(
      [{ calls: [ask("ada", 1), ask("bob", 2), ask("ada", 3)] }, { text: "done" }],
      {
        host: {
          tools: [tool],
          async callTool({ input }) {
            const { to, n } = input as { to: string; n: number };
            order.push(`${to} ${n} starts`);
            await gate.promise;
            order.push(`${to} ${n} ends`);
            return { output: to, is_error: false };
          },
        },
      },
    );
    const turn = watchTurn(conversation, "hello");
    await host.arrived("calls", 2);
    expect(order).toEqual(["ada 1 starts", "bob 2 starts"]);
    gate.resolve();
    expect(textOf(await turn.done)).toBe("done");
    expect(order.slice(2)).toEqual(["ada 1 ends", "bob 2 ends", "ada 3 starts", "ada 3 ends"]);
  });

  test("of the plane carry a key that stays the same over a redelivery", async () => {
    const script = [{ calls: [call("ls", {}), call("ask_peer", { q: 1 })] }, { text: "done" }];
    const { conversation, host, open } = await seat([...script, ...script], { host: { tools: [peerTool] } });
    await runTurn(conversation, promptOf("hello", "batch-1"));
    await runTurn(await open([]), promptOf("hello", "batch-1"));
    expect(host.calls.map((made) => made.key)).toEqual(["batch-1/1", "batch-1/1"]);
  });

  test("are recorded before they act", async () => {
    const { conversation, host } = await seat([{ calls: [call("ask_peer", {})] }, { text: "done" }], {
      host: { tools: [peerTool] },
    });
    for await (const event of conversation.send(promptOf("hello"), new AbortController().signal)) {
      const asks = event.type === "memory" && JSON.stringify(event.value).includes('"tool-call"');
      if (asks) expect(host.calls).toEqual([]);
    }
    expect(host.calls).toHaveLength(1);
  });
});

describe("permission", () => {
  const offered: Record<Permission, string[]> = {
    read: ["read", "grep", "glob", "ls", "fetch", "todo", "ask_peer"],
    write: ["read", "write", "edit", "bash", "grep", "glob", "ls", "fetch", "todo", "ask_peer"],
    full: ["read", "write", "edit", "bash", "grep", "glob", "ls", "fetch", "todo", "ask_peer"],
    auto: ["read", "write", "edit", "bash", "grep", "glob", "ls", "fetch", "todo", "ask_peer"],
  };
  const asked: Record<Permission, string[]> = {
    read: ["fetch"],
    write: ["bash", "fetch"],
    full: [],
    auto: ["write", "bash", "fetch", "ask_peer"],
  };
  test.each(["read", "write", "full", "auto"] as const)("%s offers and asks as it should", async (permission) => {
    const calls = [
      call("ls", {}),
      call("write", { path: "new.txt", content: "x" }),
      call("bash", { command: "echo ran" }),
      call("fetch", { url: "http://127.0.0.1:9/" }),
      call("ask_peer", {}),
    ];
    const { say, host, models } = await seat([{ calls }, { text: "done" }], {
      agent: { permission },
      host: { tools: [peerTool] },
    });
    const events = await say("hello");
    expect(models.requests[0]?.tools).toEqual(offered[permission]);
    expect(host.asked.map((request) => request.tool)).toEqual(asked[permission]);
    for (const result of eventsOf(events, "tool_result").filter((item) => asked[permission].includes(item.call)))
      expect(result).toMatchObject({ is_error: true, output: "Permission denied: nobody answers in this test" });
    if (permission === "read")
      expect(eventsOf(events, "tool_result").find((item) => item.call === "bash")?.output).toContain(
        "permission is read",
      );
    expect(endOf(events).reason).toBe("completed");
  });

  test("for the session is asked once a tool", async () => {
    const { say, host } = await seat(
      [{ calls: [call("bash", { command: "echo 1" }), call("bash", { command: "echo 2" }, "b2")] }, { text: "done" }],
      { agent: { permission: "write" }, host: { permission: () => ({ decision: "allow", scope: "session" }) } },
    );
    const outputs = eventsOf(await say("hello"), "tool_result").map((event) => event.output);
    expect(outputs).toEqual(["1", "2"]);
    expect(host.asked).toMatchObject([
      { tool: "bash", kind: "execute", title: "echo 1", input: { command: "echo 1" } },
    ]);
  });

  test("may change the input", async () => {
    const { say } = await seat([{ calls: [call("bash", { command: "echo bad" })] }, { text: "done" }], {
      agent: { permission: "auto" },
      host: { permission: () => ({ decision: "allow", scope: "once", input: { command: "echo good" } }) },
    });
    expect(eventsOf(await say("hello"), "tool_result")[0]?.output).toBe("good");
  });
});

describe("a turn that goes nowhere", () => {
  test("by the same call is corrected at the fifth and ended at the eighth", async () => {
    const { say, models } = await seat(() => ({ calls: [call("ls", {})] }));
    const events = await say("hello");
    expect(endOf(events)).toMatchObject({ reason: "truncated", error: { code: "tool_loop" } });
    const errors = eventsOf(events, "tool_result").map((event) => event.is_error);
    expect(errors).toEqual([false, false, false, false, true, true, true, true]);
    expect(models.requests).toHaveLength(8);
  });

  test("by ever new calls ends at max_turns", async () => {
    let n = 0;
    const { say, models } = await seat(() => ({ calls: [call("glob", { pattern: `${n++}` })] }), {
      agent: { options: { max_turns: 3 } },
    });
    expect(endOf(await say("hello"))).toMatchObject({
      reason: "truncated",
      error: { code: "tool_loop", message: expect.stringContaining("3 model calls") },
    });
    expect(models.requests).toHaveLength(3);
  });
});

test("settings reach the model", async () => {
  const { say, models } = await seat([{ text: "ok" }], {
    agent: { effort: "high", options: { temperature: 0.2, max_tokens: 77 } },
    files: { "CLAUDE.md": "not this", "AGENTS.md": `Use tabs.\n${"x".repeat(40_000)}` },
  });
  await say("hello");
  const [request] = models.requests;
  expect(request?.body).toMatchObject({ temperature: 0.2, max_tokens: 77, reasoning_effort: "high" });
  expect(request?.system).toContain("Use tabs.");
  expect(request?.system).toContain("read AGENTS.md for the rest");
  expect(request?.system).not.toContain("not this");
});

test("what a call costs is taken from a provider that says it, and left open otherwise", async () => {
  const usage = { input: 10, output: 5, cost: 0.125 };
  const replies = [
    { text: "looking", calls: [{ id: "c1", name: "ls", input: {} }], usage },
    { text: "done", usage },
  ];
  const told = await seat(replies, { agent: { model: "openrouter/a/b" } });
  expect(endOf(await told.say("hello"))).toMatchObject({ usage: { cost: 0.25 } });
  const untold = await seat(replies);
  expect(endOf(await untold.say("hello"))).toMatchObject({ usage: { cost: null } });
});
