import { turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { describe, expect, it } from "vitest";
import { ReducerTable } from "../../src/groups/reducers.ts";
import { ask, gather, never, pair, team, waitAll } from "./team.ts";

const replies = [
  { handle: "a-a", text: "yes\n" },
  { handle: "b-b", text: "no" },
  { handle: "c-c", text: " yes" },
];

describe("a reducer", () => {
  it.each([
    ["concat", "---\na-a: yes\n\n\n---\nb-b: no\n\n---\nc-c:  yes"],
    ["join_by_handle", { "a-a": "yes\n", "b-b": "no", "c-c": " yes" }],
    ["last_wins", " yes"],
    ["majority_vote", "yes"],
  ])("called %s makes one of all", (name, expected) => {
    expect(new ReducerTable().get(name)(replies, never)).toEqual(expected);
  });

  it.each([
    ["concat", ""],
    ["join_by_handle", {}],
    ["last_wins", ""],
    ["majority_vote", ""],
  ])("called %s makes something of nothing", (name, expected) => {
    expect(new ReducerTable().get(name)([], never)).toEqual(expected);
  });

  it("takes the first finisher's word among equals", () => {
    const vote = new ReducerTable().get("majority_vote");
    expect(vote([{ handle: "b-b", text: "no" }, ...replies.slice(0, 1)], never)).toBe("no");
    expect(vote(replies.slice(0, 2), never)).toBe("yes");
  });

  it("can be added under a name of its own, and taken away", () => {
    const reducers = new ReducerTable();
    const undo = reducers.add("count", (all) => all.length);
    expect(reducers.get("count")(replies, never)).toBe(3);
    expect(() => reducers.add("count", () => "")).toThrow(/exists already/);
    expect(() => reducers.add("concat", () => "")).toThrow(/exists already/);
    undo();
    expect(() => reducers.get("count")).toThrow(/no reducer "count"/);
    expect(() => reducers.get("majorty_vote")).toThrow(/did you mean "majority_vote"/);
  });

  it("that is added is used by name, and its failure loses no reply", async () => {
    const runtime = await team();
    const [a, b] = pair(await gather(runtime, "scouts", 2));
    runtime.reducers.add("shout", async (all) => all.map(({ text }) => text.toUpperCase()).join(" "));
    runtime.reducers.add("broken", () => {
      throw new Error("out of order");
    });
    await ask(runtime, "scouts");
    // Refused at once, not after the wait.
    await expect(waitAll(runtime, "scouts", 20, "shoot")).rejects.toThrow(/did you mean "shout"/);
    const waiting = waitAll(runtime, "scouts", 20, "shout");
    await runtime.stage.say(b, "one");
    await turnsEnded(runtime, 1);
    await runtime.stage.say(a, "two");
    expect((await waiting).combined).toBe("ONE TWO");
    await expect(waitAll(runtime, "scouts", 20, "broken")).rejects.toThrow(/the reducer failed: out of order/);
    expect((await waitAll(runtime, "scouts")).timeouts).toEqual([]);
  });

  it("that fails later, gives what cannot be sent or never ends is told, and releases a client that disconnects", async () => {
    const runtime = await team();
    const [a] = pair(await gather(runtime, "scouts", 2));
    const stopped: unknown[] = [];
    runtime.reducers.add("late", async () => Promise.reject(new Error("fell over")));
    runtime.reducers.add("odd", () => 10n);
    runtime.reducers.add("nothing", () => undefined);
    const begun = Promise.withResolvers<void>();
    runtime.reducers.add("endless", (_, signal) => {
      begun.resolve();
      signal.addEventListener("abort", () => stopped.push(signal.reason));
      return new Promise(() => {});
    });
    await ask(runtime, "scouts");
    await runtime.stage.say(a, "one");
    await turnsEnded(runtime, 1);
    await expect(waitAll(runtime, "scouts", 0, "late")).rejects.toThrow(/the reducer failed: .*fell over/);
    await expect(waitAll(runtime, "scouts", 0, "odd")).rejects.toThrow(/the reducer failed: .*BigInt/);
    expect((await waitAll(runtime, "scouts", 0, "nothing")).combined).toBeNull();
    const hangUp = new AbortController();
    const wait = { group: "scouts", mode: "all", timeout: 0, reducer: "endless" } as const;
    const waiting = runtime.broadcasts.wait(wait, hangUp.signal);
    const gone = new Error("gone");
    await begun.promise;
    hangUp.abort(gone);
    await expect(waiting).rejects.toBe(gone);
    expect(stopped).toEqual([gone]);
  });
});
