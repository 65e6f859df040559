import type { LiveDelta } from "@aegis/contract/event.ts";
import { hook } from "@aegis/test/helpers/hooks.ts";
import { completed, eventsOfType, said, type TestReply, type TestRuntime } from "@aegis/test/helpers/runtime.ts";
import { describe, expect, it } from "vitest";
import { answer, start } from "./stage.ts";

describe("message_sending", () => {
  const streamed: TestReply = async function* () {
    yield { type: "text_delta", message: "m1", text: "the pass" };
    yield said("the password is x");
    yield completed;
  };

  async function deltasOf(runtime: TestRuntime): Promise<LiveDelta[]> {
    const deltas: LiveDelta[] = [];
    const signal = new AbortController();
    const following = (async () => {
      for await (const item of runtime.hub.subscribe({ after: 0, live: true, signal: signal.signal }))
        if (item.kind === "delta") deltas.push(item.delta);
    })();
    await answer(runtime, "hello");
    signal.abort();
    await following;
    return deltas;
  }

  it("changes what is stored, shown and used as the result", async () => {
    const { runtime } = await start([hook("message_sending", ({ content }) => content.replace("x", "***"))], streamed);
    expect(await deltasOf(runtime)).toEqual([]);
    expect((await eventsOfType(runtime.store, "turn.text")).map(({ data }) => data.text)).toEqual([
      "the password is ***",
    ]);
    expect((await eventsOfType(runtime.store, "turn.ended"))[0]?.data.text).toBe("the password is ***");
  });

  it("streams text while no hook listens", async () => {
    const { runtime } = await start([], streamed);
    expect(await deltasOf(runtime)).toMatchObject([{ text: "the pass" }]);
  });

  it("withholds text, and says so", async () => {
    const { runtime } = await start([hook("message_sending", () => ({ cancel: true }))], async function* () {
      yield said("one", "m1");
      yield said("two", "m2");
      yield completed;
    });
    await answer(runtime, "hello");
    expect(await eventsOfType(runtime.store, "turn.text")).toEqual([]);
    expect(await eventsOfType(runtime.store, "turn.notice")).toHaveLength(2);
    expect((await eventsOfType(runtime.store, "turn.ended"))[0]?.data).toMatchObject({ reason: "completed", text: "" });
  });

  it("leaves no earlier message as the answer when the last one is withheld", async () => {
    const { runtime } = await start(
      [hook("message_sending", ({ content }) => (content === "two" ? { cancel: true } : null))],
      async function* () {
        yield said("one", "m1");
        yield said("two", "m2");
        yield completed;
      },
    );
    await answer(runtime, "hello");
    expect((await eventsOfType(runtime.store, "turn.ended"))[0]?.data.text).toBe("");
  });
});
