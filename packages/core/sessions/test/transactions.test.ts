import type { Store } from "@aegis/store/store.ts";
import { gated, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

it("takes three transactions from a message to its agent: admitted, begun, handed over", async () => {
  let transactions = 0;
  const counting = (store: Store): Store => ({
    read: store.read,
    transact(unit) {
      transactions += 1;
      return store.transact(unit);
    },
    onCommit: (...listener) => store.onCommit(...listener),
    health: () => store.health(),
    close: () => store.close(),
  });
  const { reply, open } = gated();
  const driver = testDriver(reply);
  const runtime = await testRuntime(await memoryDir(), driver, { wrap: counting });
  const { session } = await runtime.sessions.create({ prompt: "first" });
  open(0);
  await turnsEnded(runtime, 1);
  const before = transactions;
  await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "second" });
  await waitUntil("the agent has it", () => driver.turns.length === 2);
  expect(transactions - before).toBe(3);
  open(1);
  await turnsEnded(runtime, 2);
});

it("writes the last text of a turn in the transaction that ends it", async () => {
  const { reply, open } = gated();
  const runtime = await testRuntime(await memoryDir(), testDriver(reply));
  const commits: string[][] = [];
  runtime.store.onCommit((events) => void commits.push(events.map(({ type }) => type)));
  await runtime.sessions.create({ prompt: "first" });
  open(0);
  await turnsEnded(runtime, 1);
  expect(commits.filter((types) => types.includes("turn.text"))).toEqual([
    ["turn.text", "turn.ended", "session.state"],
  ]);
});
