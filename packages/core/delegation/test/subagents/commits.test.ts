/** A tree of three levels whose daemon stops after any of its commits. */

import type { SessionId } from "@aegis/contract/ids.ts";
import type { Store } from "@aegis/store/store.ts";
import { completed, eventsOfType, said, type TestTurn, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

/** The root starts "child", which starts "leaf"; each session that gets a result confirms it. */
async function* reply({ prompt, spec, signal }: TestTurn) {
  const below = /^begin$/m.test(prompt.text) ? "child" : /^child$/m.test(prompt.text) ? "leaf" : null;
  if (below !== null) {
    const input = { task: below, label: below };
    const { output } = await spec.host.tools.call("sessions_spawn", input, { key: prompt.key, signal });
    yield said(output);
  } else yield said(/^leaf$/m.test(prompt.text) ? "the leaf's word" : "I have it");
  yield completed;
}

/** Nothing is written any more after so many commits. */
function stoppingAfter(commits: number, onStop: () => void) {
  let left = commits;
  return (store: Store): Store => ({
    read: store.read,
    transact: async (unit) => {
      if (left-- <= 0) {
        onStop();
        throw new Error("stopped");
      }
      return store.transact(unit);
    },
    onCommit: (...listener) => store.onCommit(...listener),
    health: () => store.health(),
    close: () => store.close(),
  });
}

async function isQuiet({ read }: Store): Promise<boolean> {
  const busy = [await read.messages.waiting(), await read.turns.open(), await read.subagents.running()];
  return busy.every((list) => list.length === 0);
}

/** Whether the daemon stopped before everything was done. */
async function stopsAfter(commits: number): Promise<boolean> {
  const dir = await tempDir();
  let stopped = false;
  const first = await testRuntime(dir, testDriver(reply), {
    wrap: stoppingAfter(commits, () => {
      stopped = true;
    }),
  });
  const created = await first.sessions.create({ prompt: "begin" }).catch(() => null);
  const root = created?.session.id ?? null;
  const isOver = async () =>
    stopped || (root !== null && (await hears(first.store, root)) && (await isQuiet(first.store)));
  await waitUntil("it is done or stopped", isOver);
  await first.stop();
  if (root === null) return true;

  const second = await testRuntime(dir, testDriver(reply));
  await second.recover();
  await second.sessions.wakeAll();
  await waitUntil("everything is done", async () => (await hears(second.store, root)) && (await isQuiet(second.store)));
  const told = (await second.store.read.messages.list(root)).filter((one) => one.sender.kind === "substrate");
  const heard = told.filter((one) => one.status === "done" && one.body.startsWith('[Subagent Complete] "child"'));
  expect(heard, `stopped after ${commits} commits`).toHaveLength(1);
  const rows = await second.store.read.subagents.below(root);
  const ends = (await eventsOfType(second.store, "subagent.ended")).map((event) => event.data.run_id);
  expect(ends.toSorted()).toEqual(rows.map((row) => row.run_id).toSorted());
  expect(rows.filter((row) => row.label === "child")).toHaveLength(1);
  await second.stop();
  return stopped;
}

async function hears(store: Store, root: SessionId): Promise<boolean> {
  const messages = await store.read.messages.list(root);
  return messages.some((one) => one.body.startsWith('[Subagent Complete] "child"') && one.status === "done");
}

it("tells the root of its child exactly once, whichever commit was the last", {
  tags: "slow",
  timeout: scaled(180_000),
}, async () => {
  let commits = 0;
  while (await stopsAfter(commits)) commits += 1;
  expect(commits).toBeGreaterThan(15);
});
