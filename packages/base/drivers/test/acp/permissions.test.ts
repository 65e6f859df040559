/** Who answers an ACP permission request, and with which of the agent's options. */

import { eventsOf, textOf } from "@aegis/test/helpers/turns.ts";
import { describe, expect, test } from "vitest";
import { noQuirks } from "../../src/acp/recipe.ts";
import { seat } from "./seat.ts";

describe("a permission request", () => {
  test("for the session takes the narrow option that the recipe names", async () => {
    const host = { permission: () => ({ decision: "allow", scope: "session" }) as const };
    const plain = await seat({ host });
    expect(await plain.ask(await plain.open(), "asks")).toBe("allowed by all-tools");
    const narrow = await seat({ host, recipe: { quirks: { ...noQuirks, allowAlways: ["this-tool"] } } });
    expect(await narrow.ask(await narrow.open(), "asks")).toBe("allowed by this-tool");
  });

  test("that is denied gives the call a result with the reason", async () => {
    const at = await seat({ host: { permission: () => ({ decision: "deny", reason: "not today" }) } });
    const events = await at.run(await at.open(), "asks");
    expect(eventsOf(events, "tool_call")).toHaveLength(1);
    expect(eventsOf(events, "tool_result")).toMatchObject([{ call: "t1", output: "not today", is_error: true }]);
    expect(textOf(events)).toBe("denied by no");
  });

  test("that is allowed with other arguments is denied, because they cannot be given", async () => {
    const host = { permission: () => ({ decision: "allow", scope: "once", input: { command: "ls -l" } }) as const };
    const at = await seat({ host });
    expect(await at.ask(await at.open(), "asks")).toBe("denied by no");
    const same = { permission: () => ({ decision: "allow", scope: "once", input: { command: "ls" } }) as const };
    const other = await seat({ host: same });
    expect(await other.ask(await other.open(), "asks")).toBe("allowed by yes");
  });

  test("that comes before its arguments waits for them", async () => {
    const at = await seat({ recipe: { quirks: { ...noQuirks, lateInputMs: 5000 } } });
    await at.run(await at.open(), "asksLate");
    expect(at.host.asked).toMatchObject([{ call: "t2", kind: "execute", input: { command: "ls" } }]);
  });

  test("for a tool of the plane passes without a question, its arguments read from the text", async () => {
    const at = await seat();
    const events = await at.run(await at.open(), "asksPlane");
    expect(textOf(events)).toBe("yes");
    expect(at.host.asked).toEqual([]);
    expect(eventsOf(events, "tool_call")).toMatchObject([{ name: "mcp__aegis__aegis_meta", input: { a: 1 } }]);
    expect(eventsOf(events, "tool_result")).toMatchObject([{ output: "meta", is_error: false }]);
  });

  test.each([
    { permission: "full", word: "asks", says: "allowed by yes", questions: 0 },
    { permission: "write", word: "asksEdit", says: "yes", questions: 0 },
    { permission: "write", word: "asksEditOutside", says: "no", questions: 1 },
    { permission: "write", word: "asks", says: "denied by no", questions: 1 },
    { permission: "read", word: "asksEdit", says: "no", questions: 0 },
    { permission: "read", word: "asks", says: "denied by no", questions: 0 },
    { permission: "auto", word: "asksEdit", says: "no", questions: 1 },
  ] as const)(
    "of an agent with `$permission`: $word is answered $says",
    async ({ permission, word, says, questions }) => {
      const at = await seat({ agent: { permission } });
      expect(await at.ask(await at.open(), word)).toBe(says);
      expect(at.host.asked).toHaveLength(questions);
    },
  );
});

describe("a command in the input", () => {
  const guarded = { guarded: [".aegis"] };

  test.each(["read", "search", "think", "edit", "delete", "move"])(
    "makes a call of the kind %s a command, which a person decides about",
    async (kind) => {
      const at = await seat({ agent: { permission: "write" }, host: guarded });
      for (const input of [{ command: "rm -rf ~" }, { path: "a", options: [{ cmd: ["rm", "-rf", "~"] }] }])
        expect(await at.ask(await at.open(), `asksInput ${kind} ${JSON.stringify(input)}`)).toBe("no");
      expect(at.host.asked).toMatchObject([
        { kind: "execute", input: { command: "rm -rf ~" } },
        { kind: "execute", input: { path: "a" } },
      ]);
    },
  );

  test("is refused with `read`, and without the tool `bash`", async () => {
    const word = `asksInput think ${JSON.stringify({ command: "ls" })}`;
    for (const agent of [{ permission: "read" as const }, { permission: "full" as const, tools: ["read", "edit"] }]) {
      const at = await seat({ agent, host: guarded });
      expect(await at.ask(await at.open(), word)).toBe("no");
      expect(at.host.asked).toEqual([]);
    }
  });

  test.each([
    { kind: "edit", input: { command: "str_replace", path: "a.txt", old_str: "a", new_str: "b" } },
    { kind: "edit", input: { path: "a.txt", content: '{"command": "rm -rf ~"}' } },
    { kind: "search", input: { pattern: "command", include: "*.sh" } },
    { kind: "think", input: { todos: [{ content: "run the command" }] } },
  ])("is not what only looks like one: $kind $input", async ({ kind, input }) => {
    const at = await seat({ agent: { permission: "write" }, host: guarded });
    expect(await at.ask(await at.open(), `asksInput ${kind} ${JSON.stringify(input)}`)).toBe("yes");
    expect(at.host.asked).toEqual([]);
  });

  test("that the harness does not show is told to the person who decides", async () => {
    const at = await seat({ agent: { permission: "write" }, host: guarded });
    await at.ask(await at.open(), "asksInput execute {}");
    await at.ask(await at.open(), 'asksInput execute {"command":"ls"}');
    expect(at.host.asked).toMatchObject([{ reason: "the harness names no action" }, { input: { command: "ls" } }]);
    expect(at.host.asked[1]?.reason).toBeUndefined();
  });
});

describe("Aegis's own gate", () => {
  test("has an agent with `full` work in its asking mode, and asks once about what it minds", async () => {
    const host = {
      guarded: [".aegis"],
      beforeTool: () => ({ decision: "ask", reason: "it may write to .aegis", once: true }) as const,
    };
    const modes = { read: ["plan"], write: ["build"], full: ["build"], auto: ["build"] };
    const at = await seat({ agent: { permission: "full" }, host, recipe: { modes } });
    expect(await at.ask(await at.open(), "asksEdit")).toBe("no");
    expect(at.host.asked).toMatchObject([{ kind: "edit", once: true }]);
    expect(at.host.asked[0]?.paths?.length).toBeGreaterThan(0);
  });

  test("sends no ask for what the permission forbids", async () => {
    const host = { guarded: [".aegis"], beforeTool: () => ({ decision: "ask", reason: "x", once: true }) as const };
    const at = await seat({ agent: { permission: "read" }, host });
    expect(await at.ask(await at.open(), "asksEdit")).toBe("no");
    expect(at.host.asked).toEqual([]);
  });
});
