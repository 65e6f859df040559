/** What waits when the daemon starts is started a few at a time, and later each time that a stop interrupted it. */
import type { SessionId } from "@aegis/contract/ids.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { completed, said, type TestRuntime, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const human = { kind: "human" } as const;

async function waiting(runtime: TestRuntime, count: number): Promise<SessionId[]> {
  const ids: SessionId[] = [];
  for (let index = 0; index < count; index++) {
    const { session } = await runtime.sessions.create({ handle: `waiter-${index}` });
    await runtime.inbox.admit({ session: session.id, sender: human, body: "go" });
    ids.push(session.id);
  }
  return ids;
}

it("starts the sessions that wait a few at a time", async () => {
  const gates = new Map<SessionId, () => void>();
  const driver = testDriver(async function* ({ session }) {
    await new Promise<void>((open) => gates.set(session, open));
    yield said("here");
    yield completed;
  });
  const runtime = await testRuntime(await memoryDir(), driver);
  runtime.sessions.rest();
  await waiting(runtime, 12);
  await runtime.sessions.wakeAll();
  await waitUntil("the first ones start", () => gates.size === 4);
  const most = [gates.size];
  for (let done = 0; done < 12; done++) {
    await waitUntil("one is there", () => gates.size > 0);
    most.push(gates.size);
    const [first] = gates;
    gates.delete(first?.[0] as SessionId);
    first?.[1]();
  }
  expect(Math.max(...most)).toBe(4);
  await waitUntil("all have answered", async () => (await runtime.store.read.messages.waiting(null)).length === 0);
  expect(driver.turns).toHaveLength(12);
});

it("lets a session wait whose turns one stop after another interrupted", async () => {
  const sleeps: number[] = [];
  // A minute of the program is a moment of the test.
  const clock = {
    ...systemClock,
    async sleep(ms: number, signal?: AbortSignal) {
      sleeps.push(ms);
      await systemClock.sleep(Math.min(ms, 20), signal);
    },
  };
  const dir = await memoryDir();
  const never = () =>
    testDriver(async function* ({ signal }) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      yield completed;
    });
  for (let life = 0; life < 5; life++) {
    const driver = never();
    const runtime = await testRuntime(dir, driver, { clock });
    if (life === 0) await waiting(runtime, 1);
    await runtime.recover();
    await runtime.sessions.wakeAll();
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    await runtime.stop();
  }
  const driver = testDriver(async function* () {
    yield said("at last");
    yield completed;
  });
  sleeps.length = 0;
  const last = await testRuntime(dir, driver, { clock });
  await last.recover();
  await last.sessions.wakeAll();
  await waitUntil("it answers", async () => (await last.store.read.messages.waiting(null)).length === 0);
  const own = sleeps.filter((ms) => ms !== 5_000 && ms !== 60_000);
  expect(own).toHaveLength(1);
  expect(own[0]).toBeGreaterThan(3_500);
});
