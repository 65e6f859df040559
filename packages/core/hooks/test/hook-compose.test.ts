import { type HookContexts, type HookEvent, hookEvents, hookKinds, type PreTurnResult } from "@aegis/contract/hook.ts";
import { preTurn, session } from "@aegis/test/helpers/hooks.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyResult, ends, isComposed, outcomeOf, overlaid } from "../src/hook-compose.ts";
import { checkResult } from "../src/hook-results.ts";

const text = fc.string({ minLength: 1 }).filter((value) => value.trim() !== "");
const preTurnResult: fc.Arbitrary<PreTurnResult> = fc.record(
  {
    prependSystem: fc.string(),
    rewriteUser: text,
    extendHistory: fc.array(fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), text })),
  },
  { requiredKeys: [] },
);

describe("pre_turn", () => {
  it("joins what is put ahead, lets the last rewrite win and appends history, in order", () => {
    fc.assert(
      fc.property(fc.array(preTurnResult), (results) => {
        const outcome = outcomeOf("pre_turn", results);
        const ahead = results.flatMap((one) => (one.prependSystem ? [one.prependSystem] : []));
        expect(outcome.system).toBe(ahead.join("\n\n"));
        expect(outcome.text).toBe(results.findLast((one) => one.rewriteUser !== undefined)?.rewriteUser ?? null);
        expect(outcome.history).toEqual(results.flatMap((one) => one.extendHistory ?? []));
        expect(outcome.blocked).toBeNull();
      }),
    );
  });

  it("shows each hook what the earlier ones made", () => {
    fc.assert(
      fc.property(fc.array(preTurnResult), (results) => {
        const seen = results.reduce((context, result) => applyResult("pre_turn", context, result), preTurn);
        expect(seen.priorResults).toEqual(results);
        expect(seen.userMessage).toBe(outcomeOf("pre_turn", results).text ?? "hello");
        expect(seen.history).toEqual(outcomeOf("pre_turn", results).history);
      }),
    );
  });

  it("ends with the first block and with nothing else", () => {
    fc.assert(
      fc.property(preTurnResult, text, (result, reason) => {
        expect(ends("pre_turn", result)).toBe(false);
        expect(ends("pre_turn", { ...result, block: reason })).toBe(true);
      }),
    );
    expect(outcomeOf("pre_turn", [{ block: "first" }, { block: "second" }]).blocked).toBe("first");
  });

  it("makes no difference where a list of hooks is cut into plugins", () => {
    fc.assert(
      fc.property(fc.array(preTurnResult), fc.nat(), (results, cut) => {
        const at = results.length === 0 ? 0 : cut % (results.length + 1);
        const fold = (from: typeof preTurn, part: readonly PreTurnResult[]) =>
          part.reduce((context, result) => applyResult("pre_turn", context, result), from);
        expect(fold(fold(preTurn, results.slice(0, at)), results.slice(at))).toEqual(fold(preTurn, results));
      }),
    );
  });
});

describe("pre_spawn", () => {
  const context: HookContexts["pre_spawn"] = {
    session,
    argv: ["agent", "-x"],
    env: { PATH: "/bin", TOKEN: "t" },
    cwd: "/p",
    projectRoot: "/p",
    priorResults: [],
  };

  it("accumulates command line and environment", () => {
    const first = applyResult("pre_spawn", context, { argv: ["wrap", ...context.argv], env: { EXTRA: "1" } });
    const second = applyResult("pre_spawn", first, { env: { TOKEN: null } });
    expect(second.argv).toEqual(["wrap", "agent", "-x"]);
    expect(second.env).toEqual({ PATH: "/bin", EXTRA: "1" });
    const outcome = outcomeOf("pre_spawn", second.priorResults);
    expect(outcome.argv).toEqual(second.argv);
    expect(overlaid(context.env, outcome.env)).toEqual(second.env);
  });
});

describe("pre_tool_use", () => {
  const decision = fc.oneof(
    fc.record({ decision: fc.constant("allow" as const), input: fc.integer() }, { requiredKeys: ["decision"] }),
    fc.record(
      { decision: fc.constant("ask" as const), input: fc.integer(), reason: text },
      { requiredKeys: ["decision"] },
    ),
  );

  it("keeps a question whatever later hooks allow, and uses the last rewritten input", () => {
    fc.assert(
      fc.property(fc.array(decision), (results) => {
        const outcome = outcomeOf("pre_tool_use", results);
        expect(outcome.decision).toBe(results.some((one) => one.decision === "ask") ? "ask" : "allow");
        const rewritten = results.findLast((one) => one.input !== undefined);
        expect("input" in outcome ? outcome.input : undefined).toBe(rewritten?.input);
      }),
    );
  });

  it("lets a denial rule over everything", () => {
    fc.assert(
      fc.property(fc.array(decision), text, (results, reason) => {
        const denial = { decision: "deny" as const, reason };
        expect(outcomeOf("pre_tool_use", [...results, denial])).toEqual(denial);
        expect(ends("pre_tool_use", denial)).toBe(true);
        for (const result of results) expect(ends("pre_tool_use", result)).toBe(false);
      }),
    );
  });
});

it("withholds text for good once a hook cancels it", () => {
  expect(outcomeOf("message_sending", ["a", "b"])).toEqual({ content: "b", cancelled: false });
  expect(outcomeOf("message_sending", ["a", { cancel: true }])).toEqual({ content: "a", cancelled: true });
  expect(ends("message_sending", { cancel: true })).toBe(true);
});

it("passes rewritten content and results of tools on to the next hook", () => {
  expect(applyResult("message_received", { session, content: "a", sender: { kind: "human" } }, "b").content).toBe("b");
  expect(outcomeOf("message_received", ["b", "c"]).content).toBe("c");
  expect(outcomeOf("after_tool_call", []).result).toBeNull();
});

describe("the shape of results", () => {
  it.each<[HookEvent, unknown, RegExp]>([
    ["pre_turn", "text", /the result should be an object with prependSystem, .* not "text"/],
    ["pre_turn", { prepend_system: "x" }, /unknown field "prepend_system" \(did you mean "prependSystem"\?\)/],
    ["pre_turn", { rewriteUser: " " }, /rewriteUser should be text that is not empty/],
    ["pre_turn", { extendHistory: [{ role: "system", text: "x" }] }, /extendHistory\[0\]\.role/],
    ["pre_spawn", { argv: [] }, /argv should be a program/],
    ["pre_spawn", { argv: ["a", "b\0"] }, /argv\[1\] contains a NUL/],
    ["pre_spawn", { env: { "A=B": "x" } }, /"A=B" is not a valid variable name/],
    ["message_received", "", /not empty/],
    ["message_received", 7, /not 7/],
    ["pre_tool_use", { decision: "maybe" }, /decision should be "allow", "deny" or "ask", not "maybe"/],
    ["pre_tool_use", { decision: "deny" }, /reason should be text that is not empty, not nothing/],
    ["pre_tool_use", { decision: "allow", input: () => 1 }, /input should be JSON, not a function/],
    ["pre_tool_use", true, /the result should be an object/],
    ["after_tool_call", ["x"], /not a list of 1/],
    ["message_sending", { cancel: false }, /cancel should be true/],
    ["before_agent_start", { messages: [{ role: "user" }] }, /messages\[0\]\.content/],
  ])("of %s refuses %j", (event, value, problem) => {
    expect(() => checkResult(event, value)).toThrow(problem);
  });

  it("takes nothing as no change, everywhere, and ignores what observers give back", () => {
    for (const event of hookEvents) {
      expect(checkResult(event, null)).toBeNull();
      expect(checkResult(event, undefined)).toBeNull();
      if (hookKinds[event] === "observer") expect(checkResult(event, { any: "thing" })).toBeNull();
      expect(isComposed(event)).toBe(hookKinds[event] !== "observer");
    }
  });

  it("never lets through what it would refuse to see again", () => {
    fc.assert(
      fc.property(fc.constantFrom(...hookEvents), fc.anything(), (event, value) => {
        let checked: unknown;
        try {
          checked = checkResult(event, value);
        } catch {
          return;
        }
        expect(checkResult(event, structuredClone(checked))).toEqual(checked);
      }),
    );
  });
});
