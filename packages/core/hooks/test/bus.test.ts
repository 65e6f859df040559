import type { HookContexts, HookDeclaration, HookEvent } from "@aegis/contract/hook.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { hook, preTurn, session, type TestHook, testPlugin } from "@aegis/test/helpers/hooks.ts";
import { describe, expect, it, vi } from "vitest";
import { HookBus } from "../src/bus.ts";
import { type HookRunner, HookTable } from "../src/hook-table.ts";
import type { HookRecord } from "../src/record.ts";

const toolUse: HookContexts["pre_tool_use"] = {
  session,
  call: null,
  tool: "bash",
  kind: "execute",
  plugin: null,
  input: { command: "ls" },
};
const never = new AbortController().signal;

/** A bus with plugins that live in this process. `onRecord` is called after each hook. */
function bench(onRecord: (one: HookRecord) => void = () => {}) {
  const clock = fakeClock();
  const table = new HookTable();
  const records: HookRecord[] = [];
  const record = (one: HookRecord) => {
    records.push(one);
    onRecord(one);
  };
  const bus = new HookBus({ table, clock, log: silentLogger, timeoutMs: () => 50, record });
  let order = 0;
  const trips: string[][] = [];
  const add = (plugin: string, hooks: TestHook[], runner?: HookRunner) => {
    const made = testPlugin(plugin, hooks, order++);
    const run: HookRunner = (batch, signal) => {
      trips.push(batch.hooks.map(({ name }) => `${plugin}.${name}`));
      return (runner ?? made.run)(batch, signal);
    };
    return table.add({ ...made, run });
  };
  return { bus, clock, records, trips, add };
}

const says = (name: string, result: unknown, more: Partial<HookDeclaration> = {}) =>
  hook("pre_turn", () => result, { name, ...more });
const throws = (name: string, event: HookEvent, more: Partial<HookDeclaration> = {}) =>
  hook(
    event,
    () => {
      throw new Error("broken");
    },
    { name, ...more },
  );
const hangs = (name: string, event: HookEvent, more: Partial<HookDeclaration> = {}) =>
  hook(event, () => new Promise(() => {}), { name, ...more });
/** A worker that never answers. */
const stuck: HookRunner = () => new Promise(() => {});

describe("order and round trips", () => {
  it("calls hooks of one plugin in one round trip, in the order of plugins and definition", async () => {
    const { bus, add, trips } = bench();
    add("one", [says("a", { prependSystem: "1a" }), says("b", { prependSystem: "1b" })]);
    add("two", [says("c", { prependSystem: "2c" })]);
    expect((await bus.run("pre_turn", preTurn, never)).system).toBe("1a\n\n1b\n\n2c");
    expect(trips).toEqual([["one.a", "one.b"], ["two.c"]]);
  });

  it("lets a priority move one, at the price of a round trip", async () => {
    const { bus, add, trips } = bench();
    add("one", [says("a", { prependSystem: "1a" }), says("late", { prependSystem: "late" }, { priority: 10 })]);
    add("two", [says("c", { prependSystem: "2c" })]);
    expect((await bus.run("pre_turn", preTurn, never)).system).toBe("1a\n\n2c\n\nlate");
    expect(trips).toEqual([["one.a"], ["two.c"], ["one.late"]]);
  });

  it("shows a hook of one plugin what those of another made", async () => {
    const { bus, add } = bench();
    const seen: unknown[] = [];
    add("one", [says("a", { rewriteUser: "new", extendHistory: [{ role: "user", text: "old" }] })]);
    add("two", [hook("pre_turn", (context) => void seen.push(context))]);
    await bus.run("pre_turn", preTurn, never);
    expect(seen).toEqual([
      expect.objectContaining({
        userMessage: "new",
        history: [{ role: "user", text: "old" }],
        priorResults: [{ rewriteUser: "new", extendHistory: [{ role: "user", text: "old" }] }],
      }),
    ]);
  });

  it("calls no hook after a block, in the same plugin or the next", async () => {
    const { bus, add, trips, records } = bench();
    add("one", [says("a", { block: "no" }), says("b", { prependSystem: "x" })]);
    add("two", [says("c", { prependSystem: "y" })]);
    expect(await bus.run("pre_turn", preTurn, never)).toMatchObject({ blocked: "no", system: "" });
    expect(trips).toEqual([["one.a", "one.b"]]);
    expect(records.map(({ hook }) => hook)).toEqual(["a"]);
  });

  it("forgets a plugin that was taken away", async () => {
    const { bus, add } = bench();
    const undo = add("one", [says("a", { block: "no" })]);
    expect(bus.events.has("pre_turn")).toBe(true);
    undo();
    expect(bus.events.has("pre_turn")).toBe(false);
    expect((await bus.run("pre_turn", preTurn, never)).blocked).toBeNull();
  });
});

describe("a hook that fails", () => {
  it("is skipped, and records the reason", async () => {
    const { bus, add, records } = bench();
    add("one", [throws("a", "pre_turn"), says("b", { prependSystem: "still" }), says("c", { wrong: 1 })]);
    expect((await bus.run("pre_turn", preTurn, never)).system).toBe("still");
    expect(records).toMatchObject([
      { plugin: "one", hook: "a", status: "exception", error: "broken", session: "ses_1", event: "pre_turn" },
      { hook: "b", status: "ok" },
      { hook: "c", status: "exception", error: expect.stringContaining('unknown field "wrong"') },
    ]);
  });

  it("blocks when it is strict", async () => {
    const { bus, add, trips } = bench();
    add("one", [throws("a", "pre_turn", { strict: true }), says("b", { prependSystem: "x" })]);
    add("two", [says("c", {})]);
    expect((await bus.run("pre_turn", preTurn, never)).blocked).toBe("strict hook one.a raised: broken");
    expect(trips).toHaveLength(1);
  });

  it("blocks when it is strict and late", async () => {
    const { bus, add, records } = bench();
    add("one", [hangs("a", "pre_turn", { strict: true, timeoutMs: 5 })]);
    const { blocked } = await bus.run("pre_turn", preTurn, never);
    expect(blocked).toBe("strict hook one.a timed out: gave no answer within 5 ms");
    expect(records).toMatchObject([{ status: "timeout", strict: true }]);
  });

  it("is given up by the daemon when its worker is stuck", async () => {
    const { bus, add, clock, records } = bench();
    add("one", [says("a", {}), says("b", {})], stuck);
    add("two", [says("c", { prependSystem: "goes on" })]);
    const running = bus.run("pre_turn", preTurn, never);
    await clock.advance(2 * 50 + 1_000);
    expect((await running).system).toBe("goes on");
    expect(records.map(({ hook, status }) => [hook, status])).toEqual([
      ["a", "timeout"],
      ["b", "timeout"],
      ["c", "ok"],
    ]);
  });
});

describe("a gate", () => {
  const gate = (call: () => unknown) => hook("pre_tool_use", call, { name: "g" });

  it.each<[string, TestHook, HookRunner | undefined, RegExp]>([
    ["throws", throws("g", "pre_tool_use"), undefined, /the gate one\.g raised: broken/],
    ["is late", hangs("g", "pre_tool_use", { timeoutMs: 5 }), undefined, /the gate one\.g timed out/],
    ["answers nonsense", gate(() => "yes"), undefined, /the gate one\.g raised: the result should be/],
    ["is gone", gate(() => null), () => Promise.reject(new Error("the worker ended")), /raised: the worker ended/],
    [
      "throws at once",
      gate(() => null),
      () => {
        throw new Error("no worker");
      },
      /raised: no worker/,
    ],
    ["lies about its answer", gate(() => null), async () => [], /raised: gave no answer/],
    [
      "answers for somebody else",
      gate(() => null),
      async () => [{ hook: "other", durationMs: 0, status: "ok", value: null }],
      /gave no answer/,
    ],
    [
      "passes an unchecked answer on",
      gate(() => null),
      async () => [{ hook: "g", durationMs: 0, status: "ok", value: { decision: "sure" } }],
      /decision should be/,
    ],
  ])("that %s denies", async (_, failing, runner, reason) => {
    const { bus, add } = bench();
    add("one", [failing], runner);
    const after = vi.fn();
    add("two", [hook("pre_tool_use", after)]);
    const verdict = await bus.run("pre_tool_use", toolUse, never);
    expect(verdict).toEqual({ decision: "deny", reason: expect.stringMatching(reason) });
    expect(after).not.toHaveBeenCalled();
  });

  it("that is stuck denies in time", async () => {
    const { bus, add, clock } = bench();
    add("one", [gate(() => null)], stuck);
    const running = bus.run("pre_tool_use", toolUse, never);
    await clock.advance(50 + 1_000);
    expect((await running).decision).toBe("deny");
  });

  it("denies when the call is given up after one gate allowed it and before the next was asked", async () => {
    const cut = new AbortController();
    const { bus, add, trips } = bench(() => cut.abort());
    add("one", [gate(() => ({ decision: "allow" }))]);
    add("two", [gate(() => ({ decision: "deny", reason: "no" }))]);
    expect(await bus.run("pre_tool_use", toolUse, cut.signal)).toEqual({
      decision: "deny",
      reason: "the call was abandoned before every gate had checked it",
    });
    expect(trips).toEqual([["one.g"]]);
  });

  it("denies when the call is given up", async () => {
    const { bus, add } = bench();
    add("one", [hangs("g", "pre_tool_use", { timeoutMs: 60_000 })]);
    const cut = new AbortController();
    const running = bus.run("pre_tool_use", toolUse, cut.signal);
    cut.abort();
    expect((await running).decision).toBe("deny");
  });

  it("asks when one hook asks and none denies", async () => {
    const { bus, add } = bench();
    add("one", [gate(() => ({ decision: "ask", reason: "sure?" }))]);
    add("two", [gate(() => ({ decision: "allow", input: { command: "ls -l" } }))]);
    const verdict = await bus.run("pre_tool_use", toolUse, never);
    expect(verdict).toEqual({ decision: "ask", reason: "sure?", input: { command: "ls -l" } });
  });
});

it("gives hooks contexts that they cannot change", async () => {
  const { bus, add, records } = bench();
  const mutate = (context: { userMessage: string }) => {
    context.userMessage = "changed";
  };
  add("one", [hook("pre_turn", mutate)]);
  await bus.run("pre_turn", preTurn, never);
  expect(records).toMatchObject([{ status: "exception", error: expect.stringContaining("read only") }]);
});

describe("observers", () => {
  const ended: HookContexts["session_end"] = { session, projectRoot: "/p", reason: "done" };
  const observer = (call: (context: typeof ended) => unknown) => hook("session_end", call, { name: "o" });

  it("are called in order within a lane, and are never waited for", async () => {
    const { bus, add } = bench();
    const seen: string[] = [];
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    add("one", [
      observer(async ({ reason }) => {
        await gates[Number(reason)]?.promise;
        seen.push(reason);
      }),
    ]);
    bus.observe("session_end", { ...ended, reason: "0" }, "ses_1");
    bus.observe("session_end", { ...ended, reason: "1" }, "ses_1");
    bus.observe("session_end", { ...ended, reason: "other" }, "ses_2");
    gates[1]?.resolve();
    await vi.waitFor(() => expect(seen).toEqual(["other"]));
    gates[0]?.resolve();
    await bus.drain(never);
    expect(seen).toEqual(["other", "0", "1"]);
  });

  it("of one plugin do not wait for those of another", async () => {
    const { bus, add } = bench();
    const seen = vi.fn();
    add("one", [observer(() => new Promise(() => {}))], stuck);
    add("two", [observer(seen)]);
    bus.observe("session_end", ended, "ses_1");
    await vi.waitFor(() => expect(seen).toHaveBeenCalledOnce());
  });

  it("change nothing by failing or by what they give back", async () => {
    const { bus, add, records } = bench();
    add("one", [throws("o", "session_end", { strict: true }), { ...observer(() => ({ block: "x" })), name: "p" }]);
    bus.observe("session_end", ended, "ses_1");
    await bus.drain(never);
    expect(records.map(({ status }) => status)).toEqual(["exception", "ok"]);
  });

  it("are left out when too many wait, and given up at the deadline", async () => {
    const { bus, add, records } = bench();
    add("one", [observer(() => null)], stuck);
    for (let n = 0; n < 1_200; n++) bus.observe("session_end", ended, "ses_1");
    const deadline = new AbortController();
    const drained = bus.drain(deadline.signal);
    deadline.abort();
    await drained;
    await vi.waitFor(() => expect(records).toHaveLength(1_000));
  });

  it("are looked up when their time has come, so that a reload in between loses none", async () => {
    const { bus, add } = bench();
    const gate = Promise.withResolvers<void>();
    const undo = add("one", [observer(() => gate.promise)]);
    bus.observe("session_end", ended, "ses_1");
    bus.observe("session_end", ended, "ses_1");
    const again = vi.fn();
    await Promise.resolve();
    undo();
    add("one", [observer(again)]);
    gate.resolve();
    await bus.drain(never);
    expect(again).toHaveBeenCalledOnce();
  });
});
