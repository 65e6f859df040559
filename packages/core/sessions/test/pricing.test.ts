/** What a turn costs where the harness does not say, and that it counts while the turn is in progress. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DriverEvent } from "@aegis/drivers/driver.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { eventsOfType, type TestReply, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const prices = 'prices: { "a/named": { input: 1, output: 2 }, "a/told-*": { input: 10, output: 20 } }\n';
const tokens = { input: 500_000, output: 1_000_000, cache_read: 0, cache_write: 0 };
const used = (cost: number | null): DriverEvent => ({ type: "usage", ...tokens, cost });
const mode = (model: string | null): DriverEvent => ({ type: "mode", mode: null, model });
const ended = (cost: number | null): DriverEvent => ({
  type: "turn.ended",
  reason: "completed",
  error: null,
  usage: { ...tokens, cost },
});
const endedWithout: DriverEvent = { type: "turn.ended", reason: "completed", error: null, usage: null };

async function start(reply: TestReply) {
  const dir = await memoryDir();
  await writeFile(join(dir, ".aegis.yaml"), prices);
  const runtime = await testRuntime(dir, testDriver(reply));
  runtime.agents.replace([{ ...offlineAgent, model: "a/named" }], { slug: offlineAgent.slug, why: "a test" });
  const { session } = await runtime.sessions.create({ prompt: "one" });
  return { dir, runtime, session };
}

async function costs(...turns: DriverEvent[][]): Promise<(number | null | undefined)[]> {
  const left = [...turns];
  const { runtime, session } = await start(async function* () {
    yield* left.shift() ?? [endedWithout];
  });
  for (let count = 1; count < turns.length; count++) {
    await turnsEnded(runtime, count);
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "next" });
  }
  await turnsEnded(runtime, turns.length);
  return (await eventsOfType(runtime.store, "turn.ended")).map((event) => event.data.usage?.cost);
}

it("is what the harness says, whatever the prices are", async () => {
  expect(await costs([used(0.25), ended(0.25)])).toEqual([0.25]);
  expect(await costs([used(0), endedWithout])).toEqual([0]);
});

it("is what the tokens come to otherwise, at the end and for each model call", async () => {
  expect(await costs([ended(null)])).toEqual([2.5]);
  expect(await costs([used(null), used(null), endedWithout])).toEqual([5]);
});

it("goes by the model that the harness names, also in an earlier turn, and else by the agent's", async () => {
  expect(await costs([mode("a/told-1"), ended(null)], [ended(null)])).toEqual([25, 25]);
  expect(await costs([mode("b/unknown"), ended(null)])).toEqual([2.5]);
});

it("is recorded while the turn is in progress, and kept when the turn is cut", async () => {
  const { dir, runtime, session } = await start(async function* ({ signal }) {
    yield used(null);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    yield endedWithout;
  });
  const current = async () => (await runtime.store.read.turns.list(session.id, 1))[0];
  await waitUntil("the call is counted", async () => (await current())?.usage?.cost === 2.5);
  expect((await current())?.ended_at).toBeNull();
  await runtime.stop();

  const again = await testRuntime(
    dir,
    testDriver(async function* () {
      yield endedWithout;
    }),
  );
  await again.recover();
  const lost = (await eventsOfType(again.store, "turn.ended"))[0];
  expect(lost?.data).toMatchObject({ reason: "lost", usage: { output: 1_000_000, cost: 2.5 } });
});
